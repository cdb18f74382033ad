"""Words of the program's own pages of rules, weighed and packed for the index over them.

Of each page these texts count: its title, message and reasons, its wordings, the logs of its cases,
the ideas by which people tell of it in several languages, and how a person tells it. A word counts
more where few texts have it, and a page with many texts counts a little more than one with few:
people meet what it answers more often.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.suite import cases_of, is_log, outcome_of
from fadoctor.judging.explain.recognise.ideas import WORDS
from fadoctor.judging.explain.recognise.told_rows import CAUSES
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.finding import Outcome
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fadoctor.judging.engine.suite import RuleFile, Suite
    from fadoctor.model.rule import Cell, Knowledge

Vector = dict[str, float]

TERMS_LIMIT = 80_000
"""Characters of one text that are read."""

LEVELS = 31
"""Steps of a weight: five bits."""

LIGHTEST = 4
"""The lowest step that is kept: one word in ten of a page weighs less, and decides on none."""

_BITS = 5
_HEAVIEST = 1.0
"""A weight that has the highest step; the steps of small weights are finer."""

OFTEN = 0.05
"""The power of the number of a page's texts by which it counts more.

Chosen on 155 public reports and 97 tellings: the right page comes first for 82 and 70, with 0.15
for 81 and 63. Above that the pages of rare causes are lost.
"""

_ADDRESS = compiled(r"https?://\S{1,300}|0x[0-9a-f]{1,16}")
# flash_attn_2_cuda: flash, attn, cuda; cu128: cu, 128. Where no spaces stand, each sign is a word.
_TERM = compiled(
    r"[a-z]{2,40}|\d{1,8}\.\d{1,8}|\d{2,9}|[\u0430-\u044f]{2,30}"
    r"|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)
COMMON = frozenset({
    "the", "and", "for", "that", "with", "this", "from", "are", "was", "has", "have", "but",
    "its", "you", "which", "when", "what", "one", "all", "any", "where", "into", "out", "than",
    "then", "them", "they", "there", "here", "does", "did", "will", "would", "other", "only",
    "also", "most", "recent", "call", "last", "line", "file", "in", "of", "to", "is", "it", "on",
    "by", "as", "or", "an", "be", "at", "if", "so", "do", "we", "my", "me", "he", "she", "i",
})  # fmt: skip
"""Words that say nothing about a page."""

# What a regular expression holds beside words.
_SIGNS = compiled(r"\\[A-Za-z]|\(\?[:!=<a-z]{0,3}|\{[0-9,]{0,8}\}|\[[^\]]{0,200}\]|[?*+.^$\\|()]")


class Page(msgspec.Struct, frozen=True):
    """One page of the index."""

    rule: str
    title: str


class PageWords(msgspec.Struct, frozen=True):
    """Pages, and which words stand in them."""

    pages: tuple[Page, ...] = ()
    words: dict[str, bytes] = {}
    """Word -> where it stands, in two bytes each: the place of the page, and the step."""


def terms(text: str) -> list[str]:
    """Return the words of a text in small letters, and its numbers."""
    found = _TERM.findall(_ADDRESS.sub(" ", text[:TERMS_LIMIT].lower()))
    return [word for word in found if word not in COMMON]


def places(packed: bytes) -> Iterator[tuple[int, float]]:
    """Yield the places of the pages that have a word, each with the word's weight there."""
    for (number,) in struct.iter_unpack("<H", packed):
        yield number >> _BITS, _HEAVIEST * ((number & LEVELS) / LEVELS) ** 2


def index_of(suite: Suite) -> PageWords:
    """Return the index over the pages of all rules."""
    told = _told(suite.knowledge)
    files = suite.rules()
    texts = {name: (*_texts(file), *told.get(name, ())) for name, file in files.items()}
    return packed(
        (Page(name, files[name].rule.title), vector) for name, vector in vectors(texts).items()
    )


def packed(weighed: Iterable[tuple[Page, Vector]]) -> PageWords:
    """Return pages with their words as an index."""
    pages: list[Page] = []
    words: dict[str, bytes] = {}
    for place, (page, vector) in enumerate(weighed):
        pages.append(page)
        for word in sorted(vector):
            step = round(LEVELS * math.sqrt(vector[word] / _HEAVIEST))
            if step < LIGHTEST:
                continue
            number = place << _BITS | min(LEVELS, step)
            words[word] = words.get(word, b"") + struct.pack("<H", number)
    return PageWords(tuple(pages), words)


def vectors(texts: Mapping[str, Iterable[str]]) -> dict[str, Vector]:
    """Return the weight of each word of each page, in the mean of its texts."""
    counted = {name: [Counter(terms(text)) for text in each] for name, each in texts.items()}
    have = Counter(word for each in counted.values() for count in each for word in count)
    number = sum(map(len, counted.values()))
    rare = {word: rarity(times, number) for word, times in have.items()}
    return {name: _mean(each, rare) for name, each in counted.items()}


def rarity(have: int, number: int) -> float:
    """Return how much a word says that some of a number of texts have."""
    return math.log((1 + number) / (1 + have)) + 1


def _mean(counts: Sequence[Counter[str]], rare: Mapping[str, float]) -> Vector:
    total: Vector = {}
    for count in counts:
        weighed = {word: (1 + math.log(times)) * rare[word] for word, times in count.items()}
        for word, value in _unit(weighed).items():
            total[word] = total.get(word, 0.0) + value
    often = len(counts) ** OFTEN
    return {word: often * value for word, value in _unit(total).items()}


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    return {word: value / length for word, value in vector.items()}


def _texts(file: RuleFile) -> Iterator[str]:
    """Yield what a page says in words of its own, and what it answers."""
    rule = file.rule
    name = f"{rule.title} {rule.id.replace('-', ' ')}"
    yield " ".join((name, name, rule.message, rule.why, *(fix.title for fix in rule.fixes)))
    if rule.symptoms:
        yield " ".join(f"{symptom.anchor} {symptom.message}" for symptom in rule.symptoms)
    for raw in cases_of(file):
        if is_log(raw) and outcome_of(raw) is Outcome.FAIL:
            yield str(raw.get("log", ""))


def _told(knowledge: Knowledge) -> dict[str, list[str]]:
    """Return rule id -> the ideas by which people tell of it, and how a person tells each."""
    ideas = {
        str(row["name"]): _SIGNS.sub(" ", str(row["pattern"])) for row in _rows(knowledge, WORDS)
    }
    found: dict[str, list[str]] = {}
    for row in _rows(knowledge, CAUSES):
        words = " ".join(ideas.get(name, "") for name in cell_words(row["says"]))
        texts = found.setdefault(str(row["rule"]), [])
        texts += [f"{row['message']} {words}", str(row["telling"])]
    return found


def _rows(knowledge: Knowledge, name: str) -> Iterable[Mapping[str, Cell]]:
    return knowledge.tables[name].rows if name in knowledge.tables else ()
