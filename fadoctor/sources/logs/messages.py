"""Assemble lines into failures: one process at a time, chained exceptions together."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.rule import MESSAGE_LIMIT
from fadoctor.sources.logs.cleaning import Line
from fadoctor.syntax.likely_lines import likely_numbers, likely_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence


CHANNELS = 64
"""Most processes that are told apart; the lines of further ones are read as one."""

GAP = 120
"""Lines between two parts of one failure, at most, where something was left out."""

_TRACEBACK = compiled(r"\s{0,40}(?:\+ )?(?:Exception Group )?Traceback \(most recent call last\)")
_CHAIN = compiled(
    r"\s{0,40}(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception)"
)

# An exception names itself with its modules and a colon; or alone, in a line of its own.
_EXCEPTION = compiled(
    r"\s{0,40}(?:[A-Za-z_]\w{0,60}\.){0,8}"
    r"(?P<name>[A-Z]\w{0,80}?(?:Error|Exception|Failure|Interrupt|Exit|Unavailable|NotFound))"
    r"(?::|\s{0,4}$)"
)


class Failure(msgspec.Struct, frozen=True):
    """Lines of one process that belong together: a chain of exceptions with what led to it."""

    channel: str
    lines: tuple[Line, ...]
    joint: str = "\n"
    """One character between two lines: a blank undoes the wrapping of a narrow terminal."""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return self.joint.join(line.text for line in self.lines)

    def line_at(self, offset: int) -> Line:
        """Return the line that holds the character at an offset of the text."""
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line.text) + 1
        return self.lines[max(0, bisect_right(starts, offset) - 1)]


class Raised(msgspec.Struct, frozen=True):
    """An exception that names itself in the log."""

    line: int
    name: str
    text: str


def failures(lines: Iterable[Line]) -> list[Failure]:
    """Return the failures of a log in the order of their first lines."""
    channels: dict[str, list[Line]] = {}
    for line in lines:
        known = line.channel in channels or len(channels) < CHANNELS
        channels.setdefault(line.channel if known else "", []).append(line)
    found = [failure for name, mine in channels.items() for failure in _cut(name, mine)]
    return sorted(found, key=lambda failure: failure.lines[0].number)


def exceptions(lines: Sequence[Line]) -> Iterator[Raised]:
    """Yield the exceptions that name themselves at the beginning of a line."""
    for line in likely_of(lines, _EXCEPTION):
        found = _EXCEPTION.match(line.text)
        if found is not None:
            yield Raised(line.number, found["name"], line.text.strip())


def _cut(channel: str, lines: list[Line]) -> Iterator[Failure]:
    """Yield the failures of one process: each begins behind the end of the one before."""
    mine: list[Line] = []
    size, ended, chained = 0, False, False
    heads, joins, raised = _matched(lines, _TRACEBACK, _CHAIN, _EXCEPTION)
    for number, line in enumerate(lines):
        begins = ended and not chained and number in heads
        is_far = bool(mine) and line.number - mine[-1].number > GAP
        if begins or is_far or size > MESSAGE_LIMIT:
            yield Failure(channel, tuple(mine))
            mine, size, ended = [], 0, False
        mine.append(line)
        size += len(line.text) + 1
        if number in joins:
            chained = True
        elif chained and line.text.strip() and number not in heads:
            chained = False
        ended = ended or number in raised
    if mine:
        yield Failure(channel, tuple(mine))


def _matched(lines: Sequence[Line], *patterns: re.Pattern[str]) -> Iterator[set[int]]:
    """Yield for each pattern the numbers of the lines, from 0 on, that begin as it says."""
    texts = tuple(line.text for line in lines)
    for each in patterns:
        yield {number for number in likely_numbers(texts, each) if each.match(texts[number])}
