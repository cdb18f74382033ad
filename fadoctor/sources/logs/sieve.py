"""Pick the parts of a log that are worth reading, on its bytes and in bounded memory.

A pasted log is kept whole. Of a longer one the surroundings of those lines are kept that hold the
anchor of a symptom or announce a failure; they are found by a few words that `bytes.find` looks
for, since looking for all anchors, or decoding every line, is many times slower.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WORDS = (b"rror", b"not ", b"lash", b"upport", b"ailed", b"FAILED", b"Killed", b"WARN")
"""What `bytes.find` looks for. Each costs as much as reading the log once, so they are few: one is
in most lines that hold an anchor, and in what programs print around the others, since what fails
says Error, failed or not."""

RARE = {b"Killed": b"K", b"FAILED": b"L", b"WARN": b"W"}
"""A letter of a word that few lines hold: one byte is found many times faster than a word."""

_TRIES = 1_000
"""How often the letter is taken up in a block before the word itself is looked for."""

ALARMS = (b"Error", b"rror:", b"Traceback", b"FAILED", b"fatal", b"Killed", b"Exception")
"""Words of lines whose surroundings are kept even without an anchor."""

WHOLE = 256 << 10
"""Bytes of a log up to which all of it is kept."""

ENDS = 64 << 10
"""Bytes at the end of a longer log that are always kept: what failed last stands there."""

BEFORE, AFTER = 60, 30
"""Lines around an interesting one that are kept."""

KEPT = 512 << 10
"""Bytes of surroundings that are kept of the log's beginning, and as many of its end."""

REPEATS = 3
"""How often lines that differ only in digits are looked at."""

_KINDS = 50_000
_LINE = 8_192
"""Bytes at the end of a line that are looked at."""

_DIGITS = b"0123456789"


class Region(msgspec.Struct, frozen=True):
    """A run of lines of the log."""

    line: int
    """Number of its first line, from 1."""
    data: bytes


class Sifted(msgspec.Struct, frozen=True):
    """What was kept of a log."""

    regions: tuple[Region, ...]
    size: int
    """Bytes of the log, as UTF-8."""
    lines: int
    is_whole: bool
    """Whether nothing was left out."""
    overflowed: bool
    """Whether there was more worth keeping than fits."""


def sift(blocks: Iterable[bytes], anchors: Iterable[bytes]) -> Sifted:
    """Return what is worth reading of a log that comes in blocks of whole lines."""
    source = iter(blocks)
    first: list[bytes] = []
    size = 0
    for block in source:
        first.append(block)
        size += len(block)
        if size > WHOLE:
            break
    else:
        data = b"".join(first)
        lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        return Sifted((Region(1, data),), len(data), lines, is_whole=True, overflowed=False)
    sieve = _Sieve(tuple(anchors))
    while first:
        sieve.take(first.pop(0))
    for block in source:
        sieve.take(block)
    return sieve.finish()


class _Sieve:
    """Takes blocks one by one and keeps the surroundings of interesting lines."""

    def __init__(self, anchors: tuple[bytes, ...]) -> None:
        self._anchors = anchors
        self._seen: dict[bytes, int] = {}
        self._head: list[Region] = []
        self._tail: deque[Region] = deque()
        self._head_bytes = self._tail_bytes = 0
        self._overflowed = False
        self._size = 0
        self._line = 1
        """Number of the line that the next block begins with."""
        self._before = b""
        """The last lines before the next block."""
        self._owed = 0
        """Lines of the next block that still belong to what was kept."""
        self._last: deque[tuple[int, bytes]] = deque()
        self._last_bytes = 0

    def take(self, block: bytes) -> None:
        """Look at one block."""
        text = self._before + block
        offset = len(self._before)
        at, line = 0, self._line - self._before.count(b"\n")
        for start, end in self._windows(text, offset):
            line += text.count(b"\n", at, start)
            self._keep(Region(line, text[start:end]))
            at = start
        self._remember(block, line + text.count(b"\n", at) - self._line)
        self._before = text[_back(text, len(text), BEFORE) :]

    def finish(self) -> Sifted:
        """Return what was kept, and the end of the log."""
        tail = list(self._tail)
        if self._last:
            tail.append(Region(self._last[0][0], b"".join(data for _, data in self._last)))
        regions = _without_overlap([*self._head, *tail])
        return Sifted(
            regions, self._size, self._line - 1, is_whole=False, overflowed=self._overflowed
        )

    def _windows(self, text: bytes, offset: int) -> Iterator[tuple[int, int]]:
        """Yield the spans to keep, in order and apart from each other."""
        open_start, open_end = offset, _forward(text, offset, self._owed)
        last, owed = offset, self._owed
        for start, end in self._interesting(text, offset):
            before = max(_back(text, start, BEFORE), 0)
            after, last = _forward(text, end, AFTER), end
            owed = AFTER
            if before > open_end:
                if open_end > open_start:
                    yield open_start, open_end
                open_start = before
            open_start, open_end = min(open_start, before), max(open_end, after)
        if open_end > open_start:
            yield open_start, open_end
        self._owed = _without_lines(text, last, owed)

    def _interesting(self, text: bytes, offset: int) -> list[tuple[int, int]]:
        """Return the lines that hold an anchor or announce a failure, in order."""
        spans: dict[int, int] = {}
        for word in WORDS:
            at = _find(text, word, offset)
            while at >= 0:
                start = text.rfind(b"\n", offset, at) + 1 or offset
                end = text.find(b"\n", at)
                end = len(text) if end < 0 else end
                spans[start] = end
                at = _find(text, word, end)
        return [
            (start, end)
            for start, end in sorted(spans.items())
            if self._is_interesting(text[max(start, end - _LINE) : end])
        ]

    def _is_interesting(self, line: bytes) -> bool:
        """Return whether a line deserves its surroundings; what repeats does so a few times."""
        kind = line.translate(None, _DIGITS)
        times = self._seen.get(kind, 0)
        if times >= REPEATS:
            return False
        if len(self._seen) >= _KINDS:
            self._seen.clear()
        self._seen[kind] = times + 1
        return any(word in line for word in ALARMS) or any(each in line for each in self._anchors)

    def _keep(self, region: Region) -> None:
        if self._head_bytes < KEPT:
            self._head.append(region)
            self._head_bytes += len(region.data)
            return
        self._tail.append(region)
        self._tail_bytes += len(region.data)
        while self._tail_bytes > KEPT and len(self._tail) > 1:
            self._tail_bytes -= len(self._tail.popleft().data)
            self._overflowed = True

    def _remember(self, block: bytes, newlines: int) -> None:
        """Count the block, which has so many line ends, and keep the end of the log."""
        self._size += len(block)
        piece = block[-ENDS:]
        cut = piece.find(b"\n") + 1 if len(piece) < len(block) else 0
        self._last.append((self._line + newlines - piece.count(b"\n", cut), piece[cut:]))
        self._last_bytes += len(piece) - cut
        self._line += newlines
        while self._last_bytes - len(self._last[0][1]) >= ENDS:
            self._last_bytes -= len(self._last.popleft()[1])


def _back(text: bytes, at: int, lines: int) -> int:
    """Return where the line begins that stands so many lines above; bounded in bytes, too."""
    floor = max(0, at - lines * 1_024)
    for _ in range(lines + 1):
        found = text.rfind(b"\n", floor, at)
        if found < 0:
            return floor or 0
        at = found
    return at + 1


def _forward(text: bytes, at: int, lines: int) -> int:
    """Return where the line ends that stands so many lines below; bounded in bytes, too."""
    ceiling = min(len(text), at + lines * 1_024 + _LINE)
    for _ in range(lines):
        found = text.find(b"\n", at, ceiling)
        if found < 0:
            return ceiling
        at = found + 1
    return at


def _find(text: bytes, word: bytes, at: int) -> int:
    """Return where a word stands from a place on, as `bytes.find` does; faster for some words."""
    letter = RARE.get(word)
    if letter is None:
        return text.find(word, at)
    inside = word.index(letter)
    for _ in range(_TRIES):
        found = text.find(letter, at + inside)
        if found < 0:
            return -1
        at = found - inside
        if text.startswith(word, at):
            return at
        at += 1
    return text.find(word, at)


def _without_lines(text: bytes, at: int, owed: int) -> int:
    """Return how many of so many lines do not end in the rest of a text."""
    while owed and (at := text.find(b"\n", at) + 1):
        owed -= 1
    return owed


def _without_overlap(regions: list[Region]) -> tuple[Region, ...]:
    """Return regions in order of their lines, what two of them share only once."""
    found: list[Region] = []
    for region in regions:
        end = found[-1].line + found[-1].data.count(b"\n") if found else 0
        if found and region.line < end:
            shared = end - region.line
            lines = region.data.split(b"\n", shared)
            rest = lines[shared] if len(lines) > shared else b""
            found[-1] = Region(found[-1].line, found[-1].data + rest)
        else:
            found.append(region)
    return tuple(found)
