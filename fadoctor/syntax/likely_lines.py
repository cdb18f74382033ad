"""The lines of a text in which patterns may match, told by one look through the whole text.

Most patterns match in no line of a log. Asking each line costs a thousand times what it costs to
look once for the words that every match holds.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, TypeVar

from fadoctor.syntax.held_words import held_words
from fadoctor.syntax.patterns import LatePattern

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

KEPT = 3
"""Texts whose words are remembered: readers ask one after another."""

LONGEST = 400_000
"""Characters of a text that is looked through; of a longer one every line is likely."""

MANY = 200
"""Lines with a word from which on it tells nothing more: all lines are likely then."""


class _Line(Protocol):
    @property
    def text(self) -> str: ...


Lined = TypeVar("Lined", bound=_Line)
"""A line with its number, or with more than that."""


class LikelyLines:
    """The lines of one text, and where words stand in them."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        """Take the lines of a text."""
        self.texts = texts
        self._is_long = sum(map(len, texts)) > LONGEST
        self._joined: dict[bool, tuple[str, list[int]]] = {}
        self._places: dict[tuple[bool, str], frozenset[int] | None] = {}

    def of(self, patterns: Iterable[re.Pattern[str]]) -> Sequence[int]:
        """Return the numbers of the lines, from 0 on, in which one of the patterns may match."""
        every, found = range(len(self.texts)), set[int]()
        for pattern in patterns:
            here = self._of_one(pattern)
            if here is None:
                return every
            found |= here
        return sorted(found)

    def _of_one(self, pattern: re.Pattern[str]) -> frozenset[int] | None:
        """Return where a pattern may match; None for everywhere."""
        if self._is_long or not isinstance(pattern, LatePattern):
            return None
        folds, choices = pattern.sought()
        likely: frozenset[int] | None = None
        for words in choices:
            here = self._with_one(words, folds=folds)
            if here is not None:
                likely = here if likely is None else likely & here
                if not likely:
                    break
        return likely

    def _with_one(self, words: tuple[str, ...], *, folds: bool) -> frozenset[int] | None:
        found = set[int]()
        for word in words:
            here = self._with(word, folds=folds)
            if here is None:
                return None
            found |= here
        return frozenset(found)

    def _with(self, word: str, *, folds: bool) -> frozenset[int] | None:
        """Return which lines hold a word; None where many do."""
        key = (folds, word)
        if key not in self._places:
            text, starts = self._whole(folds=folds)
            held = held_words(text)[word]
            self._places[key] = self._looked_for(word, text, starts) if held else frozenset()
        return self._places[key]

    @staticmethod
    def _looked_for(word: str, text: str, starts: list[int]) -> frozenset[int] | None:
        found = set[int]()
        at = text.find(word)
        while at >= 0:
            line = bisect_right(starts, at) - 1
            found.add(line)
            if len(found) > MANY or line + 1 == len(starts):
                break
            at = text.find(word, starts[line + 1])
        return frozenset(found) if len(found) <= MANY else None

    def _whole(self, *, folds: bool) -> tuple[str, list[int]]:
        """Return the whole text, in small letters where it is asked so, and where lines begin."""
        if folds not in self._joined:
            lines = [text.lower() for text in self.texts] if folds else self.texts
            starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
            self._joined[folds] = ("\n".join(lines), starts)
        return self._joined[folds]


likely_lines = lru_cache(maxsize=KEPT)(LikelyLines)
"""The same lines are looked through once, whoever asks."""


def _looked_through(texts: Iterable[str]) -> LikelyLines:
    """Return the lines of a text; of a long one nothing is remembered, which would be a copy."""
    lines = tuple(texts)
    return likely_lines(lines) if sum(map(len, lines)) <= LONGEST else LikelyLines(lines)


def likely(texts: Iterable[str], *patterns: re.Pattern[str]) -> Iterator[str]:
    """Yield in order the lines in which one of some patterns may match."""
    lines = _looked_through(texts)
    return (lines.texts[number] for number in lines.of(patterns))


def likely_of(lines: Sequence[Lined], *patterns: re.Pattern[str]) -> Iterator[Lined]:
    """Yield in order those of some lines with a text in which one of some patterns may match."""
    return (lines[number] for number in likely_numbers((line.text for line in lines), *patterns))


def likely_numbers(texts: Iterable[str], *patterns: re.Pattern[str]) -> Sequence[int]:
    """Return which of some lines, from 0 on, one of some patterns may match in."""
    return _looked_through(texts).of(patterns)


def matches(pattern: re.Pattern[str], texts: Iterable[str]) -> Iterator[re.Match[str]]:
    """Yield all matches of a pattern in some lines."""
    return (found for text in likely(texts, pattern) for found in pattern.finditer(text))


def stands(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    """Return whether a pattern stands in one of some lines."""
    return any(map(pattern.search, likely(texts, pattern)))
