"""Recognise a message of which a word was lost, added or misspelt: repair it, then match it.

What is compared are words in their order, with holes where a message varies. Only what the exact
pattern finds in the repaired text counts, so that all of its conditions hold as ever.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.cut_messages import CutMessages
from fadoctor.judging.explain.recognise.words import (
    FAULTS,
    NEGATIONS,
    Word,
    is_alike,
    is_exception,
    is_state,
    words_in,
)
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.explain.recognise.wordings import Wording

ENOUGH = 0.72
"""Part of a wording's weight that must stand in a line."""

MAYBE = 0.4
"""Part of a wording's weight that makes it worth comparing word by word."""

FEW = 40
"""In how many wordings a word stands at most that is looked for first."""

CANDIDATES = 8
"""Most wordings that one line is compared with."""

NEARLY = 4
"""Words that are there where one alone is lost, which may be the rarest."""

SENTENCE = 6
"""Most own words of a wording that is too short for one to be lost within a longer sentence."""

LOST = 2
"""Most words that are put in."""

ADDED = 3
"""Most words that are taken out of one gap."""

_PAIR = 10_000
"""What a pair of words counts; a word of the line between two pairs counts 1 against them."""

_RAISED = compiled(r"(?i)error|exception|fatal|failed|warning|traceback")


# Cyrillic, Arabic, Chinese, Japanese, Korean: words_in reads none of them.
_OTHER_SCRIPT = compiled(r"[\u0400-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


# triton compile failed: NameError('s3 is not defined'): what follows is said of s3, not of triton.
_EXCEPTION = compiled(r"[A-Za-z](?:Error|Exception)\b")

# Numbers vary from text to text.
_VARIES = compiled(r"\d")

# at 128 | = 2.6 | (0.6.3 | = -9
_NUMBER = compiled(r"[ =:(\[-]{0,4}\d")

# 7.0 | cu128
_NUMBERS = compiled(r"\w{0,8}\d[\w.]{0,20}(?<!\.)")

# torchh==1.13.1 | torchh (from versions: none): a misspelt name of a package is another one
_ASKED = compiled(r"[\w-]{0,40}(?:[=<>~!]=| \(from versions)")

# A word of the same sentence stands right before, or right behind.
_WITHIN, _FOLLOWED = compiled(r"[A-Za-z][ ,'\"`-]{1,3}\Z"), compiled(r"[ ,'\"`-]{1,3}[A-Za-z]")


class Repaired(msgspec.Struct, frozen=True):
    """A line as the message that it is meant to be."""

    rule: str
    line: int
    """Which of the lines it is, from 0; of two that were put together the first."""
    text: str
    joined: bool
    """Whether the next line went into it."""
    share: int = 0
    """How much of the message the line had already, in thousandths."""


class Tolerant:
    """All wordings by their words."""

    def __init__(self, wordings: Iterable[Wording]) -> None:
        """Take the wordings; which words tell them apart shows by how many have them.

        One in another script is left out: what tells it apart is no word that is compared, and it
        would be put into each line with the few words that it shares.
        """
        self._wordings = tuple(each for each in wordings if not _OTHER_SCRIPT.search(each.text))
        known: dict[str, str] = {}
        self._words = tuple(words_in(each.text, known) for each in self._wordings)
        self._literal = tuple(
            tuple(words[place].text for place in each.literal)
            for each, words in zip(self._wordings, self._words, strict=True)
        )
        places: dict[str, list[int]] = defaultdict(list)
        for number, literal in enumerate(self._literal):
            for word in dict.fromkeys(literal):
                places[word].append(number)
        self._places = dict(places)
        count = max(1, len(self._wordings))
        self._weights = {
            word: 1 + math.log(count / len(found)) for word, found in self._places.items()
        }
        self._own = tuple(map(frozenset, self._literal))
        self._totals = tuple(map(self._weight, self._own))
        self._cut = CutMessages(self._wordings, self._words, self._weights)

    def repaired(self, lines: Iterable[str]) -> list[Repaired]:
        """Return what lines may be meant to say, first what they nearly say already."""
        # Many lines of a log differ in their numbers alone.
        self._candidates, self._pairs = cache(self._candidates_of), cache(self._pairs_of)
        return sorted(self._repaired(lines), key=lambda each: -each.share)

    def _weight(self, words: Iterable[str]) -> float:
        """Return what words weigh together, in whatever order they come."""
        return math.fsum(self._weights[word] for word in words)

    def _repaired(self, lines: Iterable[str]) -> Iterator[Repaired]:
        texts = list(lines)
        for number, text in enumerate(texts):
            if not text.strip():
                continue
            yield from self._of(text, number, joined=False)
            if number + 1 < len(texts) and texts[number + 1].strip():
                both = f"{text.rstrip()} {texts[number + 1].strip()}"
                yield from self._of(both, number, joined=True)

    def _of(self, text: str, number: int, *, joined: bool) -> Iterator[Repaired]:
        words = words_in(text)
        if not joined:
            for each in self._cut.completed(text, words):
                yield Repaired(each.rule, number, each.text, joined, each.share)
        for wording, share in self._candidates(tuple(dict.fromkeys(each.text for each in words))):
            found = self._repair(text, words, wording)
            if found is not None and found != text:
                yield Repaired(self._wordings[wording].rule, number, found, joined, share)

    def _candidates_of(self, present: tuple[str, ...]) -> list[tuple[int, int]]:
        """Return the wordings of which enough words are present, the surest first."""
        rare = {
            number
            for word in present
            if len(places := self._places.get(word, ())) <= FEW
            for number in places
        }
        scores: Counter[int] = Counter()
        for number in rare:
            weight = self._weight(self._own[number].intersection(present))
            # A misspelt word is found only when words are compared one by one.
            if weight >= MAYBE * self._totals[number]:
                scores[number] = int(1_000 * weight / self._totals[number])
        return scores.most_common(CANDIDATES)

    def _is_of_others(self, there: set[str], gone: set[str], number: int) -> bool:
        """Return whether the rarest word was lost, and what is there is said by another rule, too.

        Then that word would tell them apart: No such file or directory.
        """
        rarest = max(map(self._weights.__getitem__, gone), default=0)
        if rarest <= max(map(self._weights.__getitem__, there)):
            return False
        rule = self._wordings[number].rule
        shared = set.intersection(*(set(self._places[word]) for word in there))
        return any(self._wordings[each].rule != rule for each in shared)

    def _pairs_of(self, number: int, words: tuple[str, ...]) -> list[tuple[int, int]]:
        """Return which words of a wording stand in a line, and where in both."""
        mine = tuple(word.text for word in self._words[number])
        return _aligned(mine, words, set(self._wordings[number].literal))

    def _repair(self, text: str, words: tuple[Word, ...], number: int) -> str | None:
        wording, mine = self._wordings[number], self._words[number]
        pairs = self._pairs(number, tuple(word.text for word in words))
        literal = set(wording.literal) - set(wording.values)
        if any(_is_variable_elsewhere(wording.text, mine[i], text, words[j]) for i, j in pairs):
            return None
        if any(
            mine[i].text != words[j].text and _ASKED.match(text, words[j].end) for i, j in pairs
        ):
            return None
        there = {mine[place].text for place, _ in pairs}
        weight = sum(self._weights[word] for word in there)
        lost = [place for place in sorted(literal) if place not in dict(pairs)]
        is_near = len(lost) <= 1 and len(there) >= NEARLY
        if not is_near and (weight < ENOUGH * self._totals[number] or len(lost) > LOST):
            return None
        if not (is_near and _is_exception_alone(lost, mine)) and any(
            is_state(mine[place].text) or place in wording.names for place in lost
        ):
            return None
        gone = {mine[place].text for place in lost}
        turns = (NEGATIONS | FAULTS) & gone
        if (turns and not _RAISED.search(text)) or self._is_of_others(there, gone, number):
            return None
        return _Rebuilder(text, words, wording, mine, literal).rebuilt(pairs)


def _is_variable_elsewhere(meant: str, word: Word, text: str, other: Word) -> bool:
    """Return whether a word of a variable in capitals stands in a text in small letters.

    LOCAL_RANK is a variable, --local-rank an option.
    """
    is_part = "_" in meant[max(0, word.start - 1) : word.start] + meant[word.end : word.end + 1]
    is_capital = meant[word.start : word.end].isupper()
    return is_part and is_capital and text[other.start : other.end].islower()


def _is_exception_alone(lost: list[int], mine: tuple[Word, ...]) -> bool:
    """Return whether a whole message is there without the exception in front, as titles tell it."""
    return lost == [0] and is_exception(mine[0].text)


def _aligned(
    mine: tuple[str, ...], words: tuple[str, ...], literal: set[int]
) -> list[tuple[int, int]]:
    """Return the longest run of pairs in order: places in the wording and in the line.

    Of those of the same length the one with the fewest other words of the line between its pairs.
    """
    ours = [place for place in range(len(mine)) if place in literal]
    best = [[0] * (len(words) + 1) for _ in range(len(ours) + 1)]
    first = (0, 0, 0)
    for i in range(len(ours) - 1, -1, -1):
        here, below = best[i], best[i + 1]
        for j in range(len(words) - 1, -1, -1):
            here[j] = max(0, below[j], here[j + 1] - 1)
            if is_alike(mine[ours[i]], words[j]):
                pair = _PAIR + below[j + 1]
                here[j] = max(here[j], pair)
                first = max(first, (pair, -i, -j))
    pairs, left, i, j = [], first[0], -first[1], -first[2]
    while left > 0:
        if is_alike(mine[ours[i]], words[j]) and left == _PAIR + best[i + 1][j + 1]:
            pairs.append((ours[i], j))
            i, j = i + 1, j + 1
        elif left == best[i + 1][j]:
            i += 1
        else:
            j += 1
        left = best[i][j]
    return pairs


class _Rebuilder:
    """Writes a line anew with what a wording has between the words that both have."""

    def __init__(
        self,
        text: str,
        words: tuple[Word, ...],
        wording: Wording,
        mine: tuple[Word, ...],
        literal: set[int],
    ) -> None:
        self._text = text
        self._words = words
        self._wording = wording.text
        self._mine = mine
        self._literal = literal
        self._choices = frozenset(wording.choices)

    def rebuilt(self, pairs: list[tuple[int, int]]) -> str | None:
        """Return the line; None where what it has besides may turn its sense."""
        if not pairs:
            return None
        parts: list[str | None] = [self._head(*pairs[0])]
        for (i, a), (j, b) in pairwise(pairs):
            parts += [self._word(i), self._between(i, a, j, b)]
        i, a = pairs[-1]
        parts += [self._word(i), self._tail(i, a)]
        whole = [part for part in parts if part is not None]
        return "".join(whole) if len(whole) == len(parts) else None

    def _word(self, place: int) -> str:
        word = self._mine[place]
        return self._wording[word.start : word.end]

    def _is_literal(self, places: range) -> bool:
        return all(place in self._literal for place in places)

    def _between(self, i: int, a: int, j: int, b: int) -> str | None:
        """Return what stands between two words: of the wording, or of the line where it varies.

        None where other words stand in the place of those that were lost.
        """
        own = self._text[self._words[a].end : self._words[b].start]
        lost, added = range(i + 1, j), self._words[a + 1 : b]
        meant = self._wording[self._mine[i].end : self._mine[j].start]
        if _EXCEPTION.search(own) and not _EXCEPTION.search(meant):
            return None
        if not self._is_literal(lost):
            return self._with_words_beside(i, j, own)
        if len(added) > ADDED or any(word.text in NEGATIONS for word in added) or (lost and added):
            return None
        if lost and _VARIES.search(meant):
            return _with_numbers(meant, own)
        return own if _VARIES.search(meant) and not lost else meant

    def _with_words_beside(self, i: int, j: int, own: str) -> str:
        """Return what varies between two words, with a lost word before it or behind it.

        no attribute 'X' | libx.so: undefined symbol
        """
        places = range(i + 1, j)
        before = list(takewhile(self._literal.__contains__, places))
        after = list(takewhile(self._literal.__contains__, reversed(places)))
        if len(before) + len(after) > 1:
            return own
        if before:
            start, end = self._mine[i].end, self._mine[before[-1]].end
            own = f"{self._wording[start:end]}{own}"
        if after:
            start, end = self._mine[after[-1]].start, self._mine[j].start
            own = f"{own.rstrip()} {self._wording[start:end]}"
        return own

    def _head(self, i: int, a: int) -> str | None:
        before = self._text[: self._words[a].start]
        lost = range(i)
        if not lost or not self._is_literal(lost):
            return before
        if len(lost) > 1 and _WITHIN.search(before):
            return None
        return f"{before} {self._wording[: self._mine[i].start].lstrip()}"

    def _tail(self, i: int, a: int) -> str | None:
        rest = self._text[self._words[a].end :]
        lost = range(i + 1, len(self._mine))
        end = self._wording[self._mine[i].end :]
        if not lost:
            is_there = rest.startswith(end) or _VARIES.search(end) is not None
            return rest if is_there else f"{end} {rest.lstrip()}"
        if not self._is_literal(lost):
            return rest
        varies, number = _VARIES.search(end), _NUMBER.match(rest)
        if varies and number:
            return f"{end[: varies.start()]}{rest[number.end() - 1 :]}"
        is_one = len(lost) == 1 and not self._choices.issuperset(lost)
        follows = _FOLLOWED.match(rest) and (not is_one or len(self._literal) <= SENTENCE)
        return None if follows or varies else f"{end} {rest.lstrip()}"


def _with_numbers(meant: str, own: str) -> str | None:
    """Return what is meant with the numbers of the line: none is made up that it does not say."""
    numbers = _NUMBERS.findall(own)
    if len(numbers) != len(_NUMBERS.findall(meant)):
        return None
    each = iter(numbers)
    return _NUMBERS.sub(lambda _: next(each), meant)
