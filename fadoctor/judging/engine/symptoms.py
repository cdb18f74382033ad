"""Match one message of a log against the symptoms of all rules.

A message is one error with the lines around it: a traceback, a compiler's output. Whole logs are
cut into messages elsewhere.
"""

from __future__ import annotations

import re
from copy import copy
from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.listed import Lists
from fadoctor.judging.engine.vetoes import is_of_others, is_survived, lines_around
from fadoctor.model.fact import printable
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.needed import has_needed
from fadoctor.model.rule import (
    LOOKAHEAD,
    MESSAGE_LIMIT,
    Rule,
    kept_with,
    needs_of,
)
from fadoctor.syntax.held_words import HeldWords
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fadoctor.model.rule import Condition, Knowledge, Symptom

    Given = Callable[[Rule, Condition], bool]

REACH = 8_192
"""How far around a match, in characters, near and absent patterns look."""

OCCURRENCES = 16
"""How often a pattern is tried in one message: what must be near may stand at a later match."""

CAPTURE_LIMIT = 200
"""Longest captured value, in characters."""

_PLACEHOLDER = r"\{([a-z_][a-z0-9_]*)\}"
_SEVERITIES, _CONFIDENCES = list(Severity), list(Confidence)


class SymptomMatch(msgspec.Struct, frozen=True):
    """A rule that shows in a message."""

    rule_id: str
    index: int
    """Which of the rule's symptoms it is."""
    severity: Severity
    confidence: Confidence
    captures: dict[str, str]
    """Groups of the pattern that took part, as harmless one-line texts."""
    message: str
    specific: int
    """How much had to come together: captured values, and what had to be near."""
    start: int
    """Where the matched text begins in the message, in characters; `end` is behind it."""
    end: int


class _Place(msgspec.Struct, frozen=True):
    rule: Rule
    index: int
    needs: str
    """Without these words it is not unpacked."""

    @property
    def symptom(self) -> Symptom:
        return self.rule.symptoms[self.index]


def nothing_given(_rule: Rule, _condition: Condition) -> bool:
    """Say that no fact is known: what hangs on facts does not show."""
    return False


def matcher_of(knowledge: Knowledge) -> Matcher:
    """Return the symptoms of a knowledge base, ready to be matched; they are made ready once."""
    return kept_with(knowledge, "matcher", Matcher)


class Matcher:
    """The symptoms of all rules by anchor. Each pattern is compiled when its anchor first shows."""

    def __init__(self, knowledge: Knowledge, given: Given = nothing_given) -> None:
        """Take the symptoms of rules, and what says whether facts surely meet a condition."""
        self._given = given
        self._lists = Lists(knowledge.tables)
        self._places = _by_anchor(knowledge.rules)
        self._cores = _cores(self._places)
        self._words = {
            each: max(each.split(), key=len, default="") for each in set(self._cores.values())
        }

    def with_facts(self, given: Given) -> Matcher:
        """Return one that asks other facts, and shares what was made of the symptoms."""
        other = copy(self)
        other._given = given  # noqa: SLF001 -- one of its own kind
        return other

    def anchors(self) -> frozenset[bytes]:
        """Return as UTF-8 what anchors hold: a text with none of them matches nothing."""
        return frozenset(core.encode() for core in self._cores.values())

    def match(
        self, message: str, *, retyped: bool = False, within: tuple[int, int] | None = None
    ) -> list[SymptomMatch]:
        """Return what a message shows, one match a rule, the most likely cause first.

        Roots stand before what they explain; then count severity, how specific the symptom is
        (what it captures and what must be near), confidence, and the place in the message.
        A retyped message is read in upper and lower case alike, with less confidence. `within`:
        where the matches lie that are asked for; of others those may be left out whose anchor does
        not stand there.
        """
        skipped = max(0, len(message) - MESSAGE_LIMIT)
        text = message[skipped:]
        folded = _folded(text) if retyped else text
        best: dict[str, tuple[_Rank, SymptomMatch, Rule]] = {}
        # A log repeats its words: each once is a third of it, or less.
        words = " ".join(set(folded.split()))
        small = HeldWords(_folded(words), once=True)
        for anchor, spots in self._standing(folded, words, retyped=retyped):
            if within is not None and not _is_near(spots, within, skipped):
                continue
            for place in self._places[anchor]:
                if not has_needed(small, place.needs):
                    continue
                found = self._look(place, text, spots, retyped=retyped)
                if found is None:
                    continue
                match = _described(place, found, skipped)
                if retyped:
                    match = msgspec.structs.replace(match, confidence=match.confidence.weaker())
                rank = _rank(match)
                known = best.get(match.rule_id)
                if known is None or _within_rule(rank) < _within_rule(known[0]):
                    best[match.rule_id] = (rank, match, place.rule)
        ranked = sorted(best.values(), key=lambda each: each[0])
        return _roots_first([(match, rule) for _, match, rule in ranked])

    def _standing(self, text: str, words: str, *, retyped: bool) -> Iterator[tuple[str, list[int]]]:
        """Yield the anchors that stand in a text of these words, and where."""
        present = set()
        for core, word in self._words.items():
            folded = _folded(core) if retyped else core
            if (_folded(word) if retyped else word) in words and folded in text:
                present.add(core)
        for anchor, core in self._cores.items():
            if core in present and (spots := _spots(text, _folded(anchor) if retyped else anchor)):
                yield anchor, spots

    def _look(
        self, place: _Place, text: str, spots: list[int], *, retyped: bool
    ) -> re.Match[str] | None:
        """Return the first match that has near it what must be, and nothing that may not.

        Only the surroundings of the spots where its anchor stands are searched, since every match
        holds one.
        """
        symptom = place.symptom

        def regex(pattern: str) -> re.Pattern[str]:
            return compiled(pattern, re.IGNORECASE if retyped else 0)

        pattern = regex(symptom.pattern or re.escape(symptom.anchor))
        windows = _windows(spots, symptom.width) if symptom.width else [(0, len(text))]
        matches = chain.from_iterable(pattern.finditer(text, *window) for window in windows)
        looked: Iterator[re.Match[str]] = islice(matches, OCCURRENCES)
        if symptom.others:
            looked = _not_of_others(tuple(looked), text, [regex(each) for each in symptom.others])
        for found in looked:
            start, end = max(0, found.start() - REACH), found.end() + REACH
            line = lines_around(text, found, 0, REACH) if symptom.same_line else (start, end)
            if (
                all(regex(each).search(text, *line) for each in symptom.same_line)
                and all(regex(near).search(text, start, end) for near in symptom.near)
                and not any(regex(absent).search(text, start, end) for absent in symptom.absent)
                and not any(is_survived(regex(x), text, found, REACH) for x in symptom.survived)
                and self._lists.has(symptom.listed, found.groupdict())
            ):
                return found if self._is_given(place) else None
        return None

    def _is_given(self, place: _Place) -> bool:
        """Return whether facts meet what a symptom asks of them; they cost more than its texts."""
        condition = place.symptom.given
        return not condition or self._given(place.rule, condition)


def _not_of_others(
    matches: tuple[re.Match[str], ...], text: str, others: list[re.Pattern[str]]
) -> Iterator[re.Match[str]]:
    """Yield the matches that no other program raised.

    A title repeats a message far from the program that the traceback names: it is raised once.
    """
    raised = {
        found[0]
        for found in matches
        if any(is_of_others(other, text, found, REACH) for other in others)
    }
    return (found for found in matches if found[0] not in raised)


def _folded(text: str) -> str:
    """Return a text in small letters, as long as it was."""
    # The one capital whose small form is longer; it stands in no anchor.
    return text.replace("\u0130", "\0").lower()


def _spots(text: str, anchor: str) -> list[int]:
    """Return where an anchor stands."""
    spots = []
    at = text.find(anchor)
    while at >= 0:
        spots.append(at)
        at = text.find(anchor, at + 1)
    return spots


def _is_near(spots: list[int], within: tuple[int, int], skipped: int) -> bool:
    """Return whether a match that holds an anchor, or looks at one, may lie within a range."""
    start, end = within[0] - skipped - LOOKAHEAD, within[1] - skipped + LOOKAHEAD
    return any(start <= at < end for at in spots)


def _windows(spots: list[int], width: int) -> Iterator[tuple[int, int]]:
    """Yield where matches lie that hold a spot and are at most so wide; apart and in order."""
    start, end = max(0, spots[0] - width), spots[0]
    for at in spots:
        if at - width > end:
            yield start, end
            start = at - width
        end = at + width + LOOKAHEAD
    yield start, end


def _by_anchor(rules: Iterable[Rule]) -> dict[str, list[_Place]]:
    places: dict[str, list[_Place]] = {}
    for rule in rules:
        for index, (anchor, needs) in enumerate(needs_of(rule)):
            places.setdefault(anchor, []).append(_Place(rule, index, needs))
    return places


def _cores(anchors: Iterable[str]) -> dict[str, str]:
    """Return for each anchor one that it holds and that holds no other: often itself.

    A text without "support" has no "does not support" either.
    """
    shortest: list[str] = []
    found = {}
    for anchor in sorted(anchors, key=len):
        found[anchor] = next((core for core in shortest if core in anchor), anchor)
        if found[anchor] == anchor:
            shortest.append(anchor)
    return found


def _described(place: _Place, found: re.Match[str], skipped: int) -> SymptomMatch:
    rule, symptom = place.rule, place.symptom
    captures = {
        name: printable(value, CAPTURE_LIMIT).strip()
        for name, value in found.groupdict().items()
        if value is not None
    }
    return SymptomMatch(
        rule_id=rule.id,
        index=place.index,
        severity=symptom.severity or rule.severity,
        confidence=symptom.confidence or rule.confidence,
        captures=captures,
        message=_filled(symptom.message, captures) or rule.title,
        specific=len(symptom.near) + bool(symptom.given) + len(captures),
        start=found.start() + skipped,
        end=found.end() + skipped,
    )


def _filled(template: str, captures: Mapping[str, str]) -> str:
    said = re.sub(_PLACEHOLDER, lambda name: captures.get(name[1], "unknown"), template)
    return _EMPTY_END.sub(".", said)


_EMPTY_END = re.compile(r"\s?[:,;]\s{0,3}\.$")
"""What is left of ": {reason}." where the reason is empty."""

_Rank = tuple[int, int, int, int, str, int]


def _rank(match: SymptomMatch) -> _Rank:
    """Return a key that sorts the most likely cause first."""
    return (
        _SEVERITIES.index(match.severity),
        -match.specific,
        _CONFIDENCES.index(match.confidence),
        match.start,
        match.rule_id,
        match.index,
    )


def _within_rule(rank: _Rank) -> tuple[int, int]:
    """Return the part of a rank that chooses among the symptoms of one rule.

    The most specific one wins, even where it weighs less: it knows more about the case.
    """
    return rank[1], rank[5]


def _roots_first(ranked: list[tuple[SymptomMatch, Rule]]) -> list[SymptomMatch]:
    """Return matches in order, each behind what explains it."""
    waiting, ordered = list(ranked), []
    while waiting:
        root = _root(waiting)
        waiting.remove(root)
        ordered.append(root[0])
    return ordered


def _root(waiting: list[tuple[SymptomMatch, Rule]]) -> tuple[SymptomMatch, Rule]:
    """Return what lies at the root of the first match; rules that explain each other end it."""
    current = waiting[0]
    seen = {current[1].id}
    while True:
        causes = [each for each in waiting if each[1].id in current[1].explained_by]
        nearest = next((each for each in causes if each[1].id not in seen), None)
        if nearest is None:
            return current
        seen.add(nearest[1].id)
        current = nearest
