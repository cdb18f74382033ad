"""An index over the program's own pages of rules, for words that no rule recognises.

The order is that of BM25: rare words count most, long pages less. It says what is near, never what
is wrong: nothing that it finds is a finding.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.suite import cases_of, is_log, outcome_of
from fadoctor.judging.explain.words import plain_words
from fadoctor.model.finding import Outcome
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.judging.engine.suite import RuleFile, Suite

K1, B = 1.4, 0.6
"""How fast a word that repeats stops counting, and how much long pages lose."""

MOST = 600
"""Words of one page that are kept, the most frequent first."""

_COMMON = frozenset({
    "the", "and", "for", "that", "with", "this", "from", "are", "was", "has", "have", "but",
    "its", "not", "you", "can", "which", "when", "what", "one", "all", "any", "where", "into",
    "out", "than", "then", "them", "they", "there", "here", "does", "did", "will", "would",
    "other", "only", "also", "most", "recent", "call", "last", "line", "file", "in", "of", "to",
    "is", "it", "on", "by", "as", "or", "an", "be", "at", "if",
})  # fmt: skip


class Page(msgspec.Struct, frozen=True):
    """The words of one rule's page, and how often each stands there."""

    rule: str
    title: str
    words: dict[str, int]


class Near(msgspec.Struct, frozen=True):
    """A page that is near to some words."""

    rule: str
    title: str
    score: float


def pages_of(suite: Suite) -> Iterator[Page]:
    """Yield the page of each rule: its texts count, and the logs of its cases."""
    for file in suite.rules().values():
        yield Page(file.rule.id, file.rule.title, dict(_count(file).most_common(MOST)))


def _count(file: RuleFile) -> Counter[str]:
    rule = file.rule
    count: Counter[str] = Counter()
    for text, times in (
        (rule.title, 3), (rule.id.replace("-", " "), 3), (rule.message, 1), (rule.why, 1),
    ):  # fmt: skip
        _add(count, text, times)
    for fix in rule.fixes:
        _add(count, fix.title, 1)
    for symptom in rule.symptoms:
        _add(count, f"{symptom.anchor} {symptom.message}", 1)
    for raw in cases_of(file):
        if is_log(raw) and outcome_of(raw) is Outcome.FAIL:
            _add(count, str(raw.get("log", "")), 1)
    return count


def _add(count: Counter[str], text: str, times: int) -> None:
    for word in plain_words(text):
        if word not in _COMMON:
            count[word] += times


def asked_by(lines: Sequence[str]) -> str:
    """Return the part of a text that says most of what is asked: what complains, and its ends."""
    if len(lines) <= 2 * ENDS:
        return "\n".join(lines)
    loud = [line for line in lines if _COMPLAINS.search(line)]
    return "\n".join((*lines[:ENDS], *loud[-ENDS:], *lines[-ENDS:]))


ENDS = 40
"""Lines at the beginning and at the end of a long text that are asked about."""

_COMPLAINS = compiled(r"(?i)error|exception|failed|cannot|not found|unsupported|fatal")


class PageIndex:
    """Pages by their words."""

    def __init__(self, pages: Iterable[Page]) -> None:
        """Take the pages."""
        self._pages = tuple(pages)
        self._sizes = tuple(sum(page.words.values()) for page in self._pages)
        self._mean = sum(self._sizes) / max(1, len(self._sizes))
        self._places: dict[str, list[int]] = {}
        for place, page in enumerate(self._pages):
            for word in page.words:
                self._places.setdefault(word, []).append(place)

    def near(self, text: str, most: int = 3) -> tuple[Near, ...]:
        """Return the pages that are nearest to a text, the nearest first."""
        scores: dict[int, float] = {}
        for word in sorted(set(plain_words(text)) - _COMMON):
            places = self._places.get(word, ())
            if not places:
                continue
            weight = math.log(1 + (len(self._pages) - len(places) + 0.5) / (len(places) + 0.5))
            for place in places:
                times = self._pages[place].words[word]
                long = K1 * (1 - B + B * self._sizes[place] / self._mean)
                scores[place] = scores.get(place, 0.0) + weight * times * (K1 + 1) / (times + long)
        best = sorted(scores, key=lambda place: (-scores[place], self._pages[place].rule))[:most]
        return tuple(
            Near(self._pages[place].rule, self._pages[place].title, round(scores[place], 3))
            for place in best
        )
