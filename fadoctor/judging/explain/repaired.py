"""What rules say of the lines of a short text, once these read as some program prints them."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.logs.messages import Failure
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from fadoctor.judging.engine.symptoms import Matcher, SymptomMatch
    from fadoctor.judging.explain.tolerant import Tolerant
    from fadoctor.sources.logs.cleaning import Line

LINES_LIMIT = 1_500
"""Most lines of a text that are compared with wordings."""

LINE_LIMIT = 2_000
"""Characters of a line in which messages of Python are repaired."""

TRIES = 12
"""Most repairs that are matched."""


# Warning: | UserWarning: | INFO -
_MILD = compiled(r"\W{0,4}(?i:\w{0,20}warning|info|note|notice)\b")
# No module named 'distutils'
_NAMED_THERE = compiled(r"\bnamed ['\"`]([\w.]{2,80})['\"`]")
_DOUBLED = compiled(r"(?<!\S)(\S{2,60}) \1(?!\S)")

# Error: No named 'x' | cannot name 'x' from 'y' | AttributeError: 'X' has no attribute 'y'
_OF_PYTHON = (
    (compiled(r"(?<=Error)(\W{1,6})No (?:(?:module|named) )?(?=['\"][\w.]{1,120}['\"])"),
     r"\1No module named "),
    (compiled(r"\bcannot (?:import|name) (?=['\"]\w{1,80}['\"] from\b)"), "cannot import name "),
    (compiled(r"(?<=AttributeError: )('\w{1,80}'(?: '\w{1,80}')?) "
              r"(?:has no|object no|object has) (?=attribute\b)"),
     r"\1 object has no "),
)  # fmt: skip
"""What Python's own messages say with one of their words lost, and as it prints them."""


def repaired_matches(
    lines: list[Line],
    matcher: Matcher,
    tolerant: Callable[[], Tolerant] | None,
    shown: Container[int] = (),
) -> Iterator[tuple[Failure, SymptomMatch]]:
    """Yield the matches that one repaired line makes possible, where words were put in with doubt.

    Without wordings only words that stand there twice are repaired. Messages of Python itself lose
    nothing of what they say with one of their own words. `shown`: numbers of lines that a wording
    explains as they are; another wording is no likelier meant.
    """
    if not lines or len(lines) > LINES_LIMIT:
        return
    as_printed = _as_python_prints(lines) if tolerant is not None else ()
    for whole in (*_once(lines), *as_printed):
        yield from ((whole, match) for match in matcher.match(whole.text))
    for whole, said, start, end in _meant(lines, tolerant) if tolerant is not None else ():
        meant = whole.text[start:end]
        if whole.line_at(start).number in shown or _is_name_lost(said, meant):
            continue
        for match in matcher.match(whole.text):
            if not (start <= match.start and match.end <= end + 1):
                continue
            if not any(_is_cut(value, said) for value in match.captures.values()):
                weaker = match.confidence.weaker()
                yield whole, msgspec.structs.replace(match, confidence=weaker)


def _once(lines: list[Line]) -> Iterator[Failure]:
    """Yield a text whose doubled words stand there once."""
    once = [msgspec.structs.replace(line, text=_DOUBLED.sub(r"\1", line.text)) for line in lines]
    whole = Failure("", tuple(once))
    if any(line.text != before.text for line, before in zip(once, lines, strict=True)):
        yield whole


def _as_python_prints(lines: list[Line]) -> Iterator[Failure]:
    """Yield a text in which messages of Python have the word that was lost."""
    told = [
        msgspec.structs.replace(line, text=_with_lost_word(line.text))
        if len(line.text) <= LINE_LIMIT and ("Error" in line.text or "cannot" in line.text)
        else line
        for line in lines
    ]
    if told != lines:
        yield Failure("", tuple(told))


def _with_lost_word(text: str) -> str:
    for pattern, meant in _OF_PYTHON:
        text = pattern.sub(meant, text)
    return text


def _meant(
    lines: list[Line], tolerant: Callable[[], Tolerant]
) -> Iterator[tuple[Failure, str, int, int]]:
    """Yield a text with one line as it is meant, what it said, and where that line stands."""
    for repaired in islice(tolerant().repaired(line.text for line in lines), TRIES):
        at = repaired.line
        # The line that says it, of those that were joined: a mark of code says nothing.
        most = max(lines[at : at + 1 + repaired.joined], key=lambda line: len(line.text))
        anew = msgspec.structs.replace(most, text=repaired.text)
        if _MILD.match(most.text) and "Error" in repaired.text:
            continue  # a warning is no misspelt error
        whole = Failure("", (*lines[:at], anew, *lines[at + 1 + repaired.joined :]))
        start = sum(len(line.text) + 1 for line in lines[:at])
        said = " ".join(line.text for line in lines[at : at + 1 + repaired.joined])
        yield whole, said, start, start + len(repaired.text)


def _is_cut(value: str, said: str) -> bool:
    """Return whether a line says a value only as a part of a longer name: device of device_map."""
    is_whole = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", said) is not None
    return bool(value) and value in said and not is_whole


def _is_name_lost(said: str, meant: str) -> bool:
    """Return whether a name that a line quotes after "named" is not in what it is to mean."""
    return any(name[1] not in meant for name in _NAMED_THERE.finditer(said))
