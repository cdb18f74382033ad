"""The rules as relations between packages: each is judged once for each thing that it can read.

While planning only packages change, and a rule reads a few facts of them: thousands of combinations
share a few hundred judgements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.evaluate import Judgement, evaluate, evaluate_for
from fadoctor.judging.engine.weaker_gpu import reads_outcomes
from fadoctor.model.catalogue import COUNTED
from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.model.fact import Known
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.packages import PACKAGES
from fadoctor.model.rule import Rule
from fadoctor.repair.plan.states.rule_inputs import (
    CONTRACT,
    can_be_about,
    can_change,
    facts_read,
    is_for_packages,
    packages_read,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.states.rule_inputs import FactReading

MOST_REMEMBERED = 200_000
"""Judgements that are kept; a plan needs some thousand."""

TELLING = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.ERROR)
"""How a relation comes out where it says something against a state: most pass."""

State = dict[str, "Choice"]
"""Package -> what is done with it."""


class Relation(msgspec.Struct, frozen=True):
    """One rule, or one rule for one package and its extensions."""

    rule: Rule
    mentions: frozenset[str]
    """Packages that decide how it comes out; `EVERYTHING` among them where all do, `CONTRACT` where
    those do that ask each other for names."""
    package: str = ""
    """The package that it is judged for, where it is judged for each."""

    key: str = ""
    """Tells it apart from other relations."""

    decided_by: frozenset[str] = frozenset()
    """Of the packages that it mentions those after which it can be judged: where all of them are
    mentioned, those that tables and requirements name, if they do."""


def relations_of(rules: Iterable[Rule]) -> tuple[Relation, ...]:
    """Return the relations of the rules that weigh more than a note, for all packages.

    Those about how others came out for GPUs beside others are none: no package decides them.
    """
    found = []
    for rule in rules:
        if not rule.when or rule.facts_weigh is Severity.NOTE or reads_outcomes(rule):
            continue
        if not is_for_packages(rule):
            found.append(Relation(rule, packages_read(rule), key=rule.id))
            continue
        about = (package for package in PACKAGES if can_be_about(rule, package))
        found += [
            Relation(rule, packages_read(rule, package), package, f"{rule.id} {package}")
            for package in about
        ]
    return tuple(found)


def placed(
    relations: Iterable[Relation],
    present: Container[str],
    contracts: frozenset[str],
    deciding: Callable[[Relation], frozenset[str]],
) -> Iterator[Relation]:
    """Yield the relations of one environment: those of its packages, "" for those of none.

    `contracts`: the packages that ask each other for names in vain, where there are any.
    `deciding`: which packages decide a relation.
    """
    for each in relations:
        if each.package not in present:
            continue
        found = each
        if CONTRACT in each.mentions:
            if not contracts:
                continue
            mentions = each.mentions - {CONTRACT} | contracts
            found = msgspec.structs.replace(each, mentions=mentions)
        yield msgspec.structs.replace(found, decided_by=deciding(found))


class Judge:
    """Judges relations, and remembers what it has judged, for every problem of a session."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix, which never changes."""
        self.matrix = matrix
        self._readings: dict[Hashable, tuple[FactReading, ...]] = {}
        self._judged: dict[Hashable, tuple[Judgement, ...]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._last = 0

    def within(self, environment: Environment) -> JudgeWithin:
        """Return the judge of what packages make of one environment."""
        return JudgeWithin(self, environment)

    def split(
        self, relation: Relation, environment: Environment
    ) -> tuple[int, tuple[FactReading, ...]]:
        """Return what of a relation no package decides, as a number, and what packages decide."""
        readings = self._read(relation, environment.facts)
        still = [each for each in readings if not can_change(each.name)]
        asked = (relation.key, *values_of(still, environment.facts))
        number = self._numbers.get(asked)
        if number is None:
            self._last += 1
            number = self._numbers[asked] = self._last
        return number, tuple(each for each in readings if can_change(each.name))

    def recall(self, asked: Hashable) -> tuple[Judgement, ...] | None:
        """Return what was judged of a number and what packages decide; None where nothing was."""
        return self._judged.get(asked)

    def judge(
        self, relation: Relation, environment: Environment, asked: Hashable
    ) -> tuple[Judgement, ...]:
        """Judge a relation, and remember it."""
        if len(self._judged) > MOST_REMEMBERED:
            self._judged.clear()
            self._numbers.clear()
        found = tuple(
            each for each in self._evaluate(relation, environment) if each.outcome in TELLING
        )
        self._judged[asked] = found
        return found

    def _read(self, relation: Relation, facts: Mapping[str, Fact]) -> tuple[FactReading, ...]:
        counts = {kind: _count(facts.get(f"{kind}.count")) for kind in COUNTED}
        asked = (relation.key, *counts.values())
        found = self._readings.get(asked)
        if found is None:
            found = facts_read(relation.rule, relation.package, counts)
            self._readings[asked] = found
        return found

    def _evaluate(self, relation: Relation, environment: Environment) -> tuple[Judgement, ...]:
        rule, package = relation.rule, relation.package
        if not package:
            return tuple(evaluate(rule, environment, self.matrix))
        return tuple(evaluate_for(rule, environment, self.matrix, package))


class JudgeWithin:
    """Judges relations in states of one environment, which differ in packages alone."""

    def __init__(self, judge: Judge, environment: Environment) -> None:
        """Take the environment whose other facts all states share."""
        self._judge = judge
        self._environment = environment
        self._parts: dict[str, tuple[int, tuple[FactReading, ...]]] = {}

    def judge(self, relation: Relation, environment: Environment) -> tuple[Judgement, ...]:
        """Return what a relation holds against a state, or cannot decide; nothing if it passes.

        Of two states that are alike to it the same.
        """
        parts = self._parts.get(relation.key)
        if parts is None:
            parts = self._parts[relation.key] = self._judge.split(relation, self._environment)
        number, readings = parts
        asked = (number, *values_of(readings, environment.facts))
        found = self._judge.recall(asked)
        return self._judge.judge(relation, environment, asked) if found is None else found


def _count(fact: Fact | None) -> int:
    value = fact.value if isinstance(fact, Known) else 0
    return min(value, SUBJECT_LIMIT) if isinstance(value, int) else 0
