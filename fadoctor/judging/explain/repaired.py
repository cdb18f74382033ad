"""What rules say of the lines of a short text, once these read as some program prints them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.logs.messages import Failure
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.judging.engine.symptoms import Matcher, SymptomMatch
    from fadoctor.judging.explain.tolerant import Tolerant
    from fadoctor.sources.logs.cleaning import Line

LINES_LIMIT = 1_500
"""Most lines of a text that are compared with wordings."""

TRIES = 12
"""Most repairs that are matched."""


_DOUBLED = compiled(r"(?<!\S)(\S{2,60}) \1(?!\S)")


def repaired_matches(
    lines: list[Line], matcher: Matcher, tolerant: Callable[[], Tolerant] | None
) -> Iterator[tuple[Failure, SymptomMatch]]:
    """Yield the matches that one repaired line makes possible, where words were put in with doubt.

    Without wordings only words that stand there twice are repaired.
    """
    if not lines or len(lines) > LINES_LIMIT:
        return
    for whole in _once(lines):
        yield from ((whole, match) for match in matcher.match(whole.text))
    for whole, start, end in _meant(lines, tolerant) if tolerant is not None else ():
        for match in matcher.match(whole.text):
            if start <= match.start and match.end <= end + 1:
                weaker = match.confidence.weaker()
                yield whole, msgspec.structs.replace(match, confidence=weaker)


def _once(lines: list[Line]) -> Iterator[Failure]:
    """Yield a text whose doubled words stand there once."""
    once = [msgspec.structs.replace(line, text=_DOUBLED.sub(r"\1", line.text)) for line in lines]
    whole = Failure("", tuple(once))
    if any(line.text != before.text for line, before in zip(once, lines, strict=True)):
        yield whole


def _meant(
    lines: list[Line], tolerant: Callable[[], Tolerant]
) -> Iterator[tuple[Failure, int, int]]:
    """Yield a text with one line as it is meant, and where that line stands."""
    for repaired in islice(tolerant().repaired(line.text for line in lines), TRIES):
        at = repaired.line
        anew = msgspec.structs.replace(lines[at], text=repaired.text)
        whole = Failure("", (*lines[:at], anew, *lines[at + 1 + repaired.joined :]))
        start = sum(len(line.text) + 1 for line in lines[:at])
        yield whole, start, start + len(repaired.text)
