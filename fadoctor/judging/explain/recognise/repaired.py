"""What rules say of the lines of a short text, once these read as some program prints them."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.logs.messages import Failure
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from fadoctor.judging.engine.symptoms import Matcher, SymptomMatch
    from fadoctor.judging.explain.recognise.tolerant import Tolerant
    from fadoctor.sources.logs.cleaning import Line

LINES_LIMIT = 1_500
"""Most lines of a text that are compared with wordings."""

LINE_LIMIT = 2_000
"""Characters of a line in which messages of Python are repaired."""

TRIES = 12
"""Most repairs that are matched."""


# Warning: | UserWarning: | INFO -
_MILD = compiled(r"\W{0,4}(?i:\w{0,20}warning|info|note|notice)\b")
# A line that may hold one of the messages below.
_FAILED = compiled(r"[Ee]rror|cannot|DLL load")
_OF_LIBRARY = compiled(r"\.so")
# No module named 'distutils'
_NAMED_THERE = compiled(r"\bnamed ['\"`]([\w.]{2,80})['\"`]")
_PART = compiled(r"\w")
_DOUBLED = compiled(r"(?<!\S)(\S{2,60}) \1(?!\S)")

_OF_SYSTEMS = (
    # Error: No named 'x'
    (compiled(r"(?<=Error)(\W{1,6})No (?:(?:module|named) )?(?=['\"][\w.]{1,120}['\"])"),
     r"\1No module named "),
    # cannot name 'x' from 'y' | cannot import name 'x' 'y'
    (compiled(r"\bcannot (?:import|name) (?=['\"]\w{1,80}['\"] from\b)"), "cannot import name "),
    (compiled(r"\b(cannot import name ['\"]\w{1,80}['\"]) (?=['\"][\w.]{1,120}['\"])"),
     r"\1 from "),
    # AttributeError: 'X' has no attribute 'y' | AttributeError: module 'x' has no 'y'
    (compiled(r"(?<=AttributeError: )('\w{1,80}'(?: '\w{1,80}')?) "
              r"(?:has no|object no|object has) (?=attribute\b)"),
     r"\1 object has no "),
    (compiled(r"(?<=AttributeError: )(?:module )?('[\w.]{1,120}') "
              r"(?:(?:has )?no (?:attribute )?|has attribute )(?=['\"]\w{1,120}['\"])"),
     r"module \1 has no attribute "),
    # f() got an unexpected argument 'x'
    (compiled(r"(?<=\(\) )(?:an unexpected keyword argument|got unexpected keyword argument|"
              r"got an? (?:keyword argument|unexpected argument|unexpected keyword)) "
              r"(?=['\"]\w{1,120}['\"])"),
     "got an unexpected keyword argument "),
    # fatal error: x.h: No file or directory
    (compiled(r"\b(?:No file or|No such or|No such file) directory\b"),
     "No such file or directory"),
    # x.cu:3:10: error: y.h: No such file or directory
    (compiled(r"(?<=\d: )(?:fatal|error): (?=[\w./+-]{1,200}: No such file or directory)"),
     "fatal error: "),
    # DLL load failed importing x
    (compiled(r"\bDLL load (?:while|failed|failed while|while importing|failed importing) "
              r"(?=\w[\w.]{0,120}:)"),
     "DLL load failed while importing "),
    # 'triton' not a package
    (compiled(r"(?<=; )('\w{1,80}') (?:not a|is a|is not) package$"), r"\1 is not a package"),
)  # fmt: skip
"""What messages of Python and compilers say with one of their words lost, and as printed."""

_LIBRARY = r"['\"`]?\b(lib[\w+-]{2,60}\.so(?:\.\d{1,4}){0,3})(?![\w.]*\w|:)['\"`]?"
_TOLD_MISSING = (
    # no such file libcudnn.so.9 | couldn't find libcudart.so.12
    compiled(
        r"\b(?i:no such file(?: or directory)?|missing|(?:could ?n[o']t|can ?no?t|can't|unable to"
        r"|fail(?:ed|s) to|does ?n[o']t) (?:find|load|open|locate|see))"
        r"(?: (?i:the|a|any|file|library|shared|object|dynamic|named|called)){0,4}:? {0,2}"
        + _LIBRARY
    ),
    # In Chinese and Russian: is not found, is missing
    compiled(
        r"(?:\u627e\u4e0d\u5230|\u7f3a\u5c11|\u672a\u627e\u5230"
        r"|\u043d\u0435 \u043d\u0430\u0445\u043e\u0434\u0438\u0442) ?" + _LIBRARY
    ),
    compiled(
        _LIBRARY + r" ?(?:\u627e\u4e0d\u5230|\u7f3a\u5931|\u4e0d\u5b58\u5728"
        r"|\u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d)"
    ),
    # libcudnn.so.9 is missing | libcublas.so.12 cannot be loaded | libcudart.so.12 => not found
    compiled(
        _LIBRARY + r"(?: (?i:library|file))?(?: (?i:is|was|=>))? (?i:missing|not found|not there"
        r"|(?:can ?not|can't|could ?n[o']t) be (?:found|loaded|opened|located))"
    ),
)
"""How people tell of a library that the loader did not find."""

_LOADER = r"\1: cannot open shared object file: No such file or directory"
_MISSING_LIBRARY = tuple((told, _LOADER) for told in _TOLD_MISSING)


def repaired_matches(
    lines: list[Line],
    matcher: Matcher,
    tolerant: Callable[[], Tolerant] | None,
    shown: Container[int] = (),
) -> Iterator[tuple[Failure, SymptomMatch]]:
    """Yield the matches that one repaired line makes possible, where words were put in with doubt.

    Without wordings only words that stand there twice are repaired, and messages of Python, Windows
    and compilers: these lose nothing of what they say with one of their own words. `shown`: numbers
    of lines that a wording explains as they are; another wording is no likelier meant.
    """
    if not lines or len(lines) > LINES_LIMIT:
        return
    messages = _as_printed(lines, _FAILED, _OF_SYSTEMS)
    libraries = _as_printed(lines, _OF_LIBRARY, _MISSING_LIBRARY) if tolerant is not None else ()
    for whole in (*_once(lines), *messages, *libraries):
        yield from ((whole, match) for match in matcher.match(whole.text))
    for whole, said, start, end in _meant(lines, tolerant) if tolerant is not None else ():
        meant = whole.text[start:end]
        if whole.line_at(start).number in shown or _is_name_lost(said, meant):
            continue
        for match in matcher.match(whole.text, within=(start, end + 1)):
            if not (start <= match.start and match.end <= end + 1):
                continue
            if not any(_is_cut(value, said, meant) for value in match.captures.values()):
                weaker = match.confidence.weaker()
                yield whole, msgspec.structs.replace(match, confidence=weaker)


def _once(lines: list[Line]) -> Iterator[Failure]:
    """Yield a text whose doubled words stand there once."""
    once = [msgspec.structs.replace(line, text=_DOUBLED.sub(r"\1", line.text)) for line in lines]
    whole = Failure("", tuple(once))
    if any(line.text != before.text for line, before in zip(once, lines, strict=True)):
        yield whole


def _as_printed(
    lines: list[Line], may_hold: re.Pattern[str], printed: Iterable[tuple[re.Pattern[str], str]]
) -> Iterator[Failure]:
    """Yield a text whose messages read as programs print them, where it tells one otherwise.

    `may_hold`: what a line holds that may have one; `printed`: what is told, and how it is printed.
    """
    told = [
        msgspec.structs.replace(line, text=_put(printed, line.text))
        if len(line.text) <= LINE_LIMIT and may_hold.search(line.text)
        else line
        for line in lines
    ]
    if told != lines:
        yield Failure("", tuple(told))


def _put(printed: Iterable[tuple[re.Pattern[str], str]], text: str) -> str:
    for pattern, meant in printed:
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


def _is_cut(value: str, said: str, meant: str) -> bool:
    """Return whether a line says a value only as a part of a longer name: device of device_map.

    A value that is meant as such a part is none: bwd of fmha_bwd.
    """
    there = _edges(value, said) if value else set()
    return bool(there) and there.isdisjoint(_edges(value, meant))


def _edges(value: str, text: str) -> set[tuple[bool, bool]]:
    """Return whether a name goes on before a value and behind it, for each place of it."""
    places = [found.span() for found in re.finditer(re.escape(value), text)]
    return {
        (bool(_PART.match(text[max(0, start - 1) : start])), bool(_PART.match(text, end)))
        for start, end in places
    }


def _is_name_lost(said: str, meant: str) -> bool:
    """Return whether a name that a line quotes after "named" is not in what it is to mean."""
    return any(name[1] not in meant for name in _NAMED_THERE.finditer(said))
