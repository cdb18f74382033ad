"""Recognise a message that ends in its middle, as titles and screenshots have it: complete it.

Only a beginning that one rule's messages alone have counts, and only where it complains already:
of "FlashAttention is enabled, but" the end alone says that something is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.words import (
    NEGATIONS,
    STATES,
    is_alike,
    is_exception,
    is_state,
)
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.judging.explain.recognise.wordings import Wording
    from fadoctor.judging.explain.recognise.words import Word

FEWEST = 4
"""Words of a beginning, at least."""

SHARE = 0.5
"""Part of a message's weight that its beginning has, at least."""

# The line ends here, or goes on with dots.
_END = compiled(r"[\s\"'`)\].,:;\u2026]{0,12}\Z")

# Numbers that a line does not say are not made up.
_VARIES = compiled(r"\d|[\\/]")

_COMPLAINS = frozenset({
    "abort", "aborting", "but", "failing", "got", "illegal", "incompatible", "invalid", "mismatch",
    "missing", "must", "needs", "only", "please", "requires", "should", "undefined", "unexpected",
    "unknown", "unrecognized", "unsupported",
})  # fmt: skip
"""Words of a message that asks for something else than what is there."""


class Completed(msgspec.Struct, frozen=True):
    """A line with the end that its message has."""

    rule: str
    text: str
    share: int
    """How much of the message the line had, in thousandths."""


class CutMessages:
    """Beginnings of all messages by their first words."""

    def __init__(
        self,
        wordings: tuple[Wording, ...],
        words: tuple[tuple[Word, ...], ...],
        weights: Mapping[str, float],
    ) -> None:
        """Take the wordings, each with its words, and how much each word says."""
        self._wordings, self._words, self._weights = wordings, words, weights
        self._starts: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        for number, mine in enumerate(words):
            texts = tuple(word.text for word in mine[: FEWEST + 1])
            for at in range(len(texts) - FEWEST + 1):
                if at == 0 or (at == 1 and is_exception(texts[0])):
                    self._starts[texts[at : at + FEWEST]].append((number, at))

    @cached_property
    def _within(self) -> Mapping[tuple[str, ...], list[tuple[int, int]]]:
        """Where words stand in messages; few texts need to know."""
        found: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        for number, mine in enumerate(self._words):
            texts = tuple(word.text for word in mine)
            for at in range(len(texts) - FEWEST + 1):
                found[texts[at : at + FEWEST]].append((number, at))
        return found

    def completed(self, text: str, words: tuple[Word, ...]) -> Iterator[Completed]:
        """Yield what a line says if the message at its end goes on as the only one it can be."""
        if len(words) < FEWEST or not _END.match(text, words[-1].end):
            return
        texts = tuple(word.text for word in words)
        for first in range(len(texts) - FEWEST + 1):
            begun = texts[first:]
            for number, at in self._starts.get(begun[:FEWEST], ()):
                share = self._share(number, begun)
                if share < 1_000 * SHARE or (end := self._rest(number, at, begun)) is None:
                    continue
                whole = text[: words[-1].end] + end
                yield Completed(self._wordings[number].rule, whole, share)

    def _rest(self, number: int, at: int, begun: tuple[str, ...]) -> str | None:
        """Return the end of a message of which a line has the beginning; None where it has not."""
        wording, mine = self._wordings[number], self._words[number]
        lost = range(at + len(begun), len(mine))
        if not lost or not _agrees(mine, at, begun) or not _complains(begun):
            return None
        varies = {*wording.values, *wording.names} | (set(range(len(mine))) - set(wording.literal))
        if varies.intersection(lost) or any(mine[place].text in STATES for place in lost):
            return None
        end = wording.text[mine[lost[0] - 1].end :]
        is_sure = not _VARIES.search(end) and self._is_of_one_rule(wording.rule, begun)
        return end if is_sure else None

    def _share(self, number: int, begun: tuple[str, ...]) -> int:
        mine = dict.fromkeys(word.text for word in self._words[number])
        whole = sum(self._weights.get(word, 0.0) for word in mine)
        there = sum(self._weights.get(word, 0.0) for word in mine if word in begun)
        return int(1_000 * there / whole) if whole else 0

    def _is_of_one_rule(self, rule: str, begun: tuple[str, ...]) -> bool:
        return all(
            self._wordings[number].rule == rule
            for number, at in self._within[begun[:FEWEST]]
            if _agrees(self._words[number], at, begun)
        )


def _agrees(mine: tuple[Word, ...], at: int, begun: tuple[str, ...]) -> bool:
    if at + len(begun) > len(mine):
        return False
    return all(is_alike(mine[at + place].text, word) for place, word in enumerate(begun))


def _complains(words: tuple[str, ...]) -> bool:
    return any(word in NEGATIONS or word in _COMPLAINS or is_state(word) for word in words)
