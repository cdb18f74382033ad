"""The rules as relations between packages: each is judged once for each combination of choices.

While planning only packages change. How a rule comes out is therefore a function of the choices for
the packages that it mentions; thousands of combinations share a few hundred judgements.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.engine.evaluate import Judgement, evaluate, evaluate_for
from fadoctor.model.catalogue import EXTENSIONS, PACKAGES
from fadoctor.model.finding import Severity
from fadoctor.model.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.plan.choice import Choice

EVERYTHING = "packages"
"""Head of the facts about all packages: a rule that reads them depends on every choice."""

State = dict[str, "Choice"]
"""Package -> what is done with it."""

_HEAD = re.compile(r"(?<![\w.-])\$?([a-z][a-z0-9_]*)[.\[]")


class Relation(msgspec.Struct, frozen=True):
    """One rule, or one rule for one package and its extensions."""

    rule: Rule
    mentions: frozenset[str]
    """Packages that decide how it comes out; `EVERYTHING` among them where all do."""
    package: str = ""
    """The package that it is judged for, where it is judged for each."""


def heads_of(rules: Iterable[Rule]) -> dict[str, frozenset[str]]:
    """Return for each rule that weighs more than a note the packages whose facts it can read."""
    return {
        rule.id: _heads(rule) for rule in rules if rule.when and rule.severity is not Severity.NOTE
    }


def relations_of(
    rules: Iterable[Rule], heads_by_rule: Mapping[str, frozenset[str]], packages: Iterable[str]
) -> tuple[Relation, ...]:
    """Return the relations of the rules that have heads, for these packages."""
    found = []
    present = tuple(package for package in packages if package in PACKAGES)
    for rule in rules:
        heads = heads_by_rule.get(rule.id)
        if heads is None:
            continue
        if "package" in rule.for_each or "extension" in rule.for_each:
            found += [
                Relation(rule, heads | {package}, package)
                for package in present
                if "package" in rule.for_each or package in EXTENSIONS
            ]
        else:
            found.append(Relation(rule, heads))
    return tuple(found)


def _heads(rule: Rule) -> frozenset[str]:
    """Return the packages whose facts a rule can read."""
    texts = [str(part) for part in (rule.when, rule.overruled_by, rule.rows, rule.let)]
    heads = {head for text in texts for head in _HEAD.findall(text)}
    if "toolkit" in heads and any("toolkit.ptxas" in text for text in texts):
        heads.add("triton")
    if "extension" in rule.for_each or any(".loads" in text for text in texts):
        heads.add("torch")  # with another torch they load or do not
    known = {head for head in heads if head in PACKAGES}
    return frozenset(known | ({EVERYTHING} if EVERYTHING in heads else set()))


class Relations:
    """Judges relations, and remembers what it has judged."""

    def __init__(self, relations: Iterable[Relation], matrix: Matrix) -> None:
        self.relations = tuple(relations)
        self.matrix = matrix
        self._judged: dict[tuple[str, ...], tuple[Judgement, ...]] = {}

    def judge(
        self, relation: Relation, environment: Environment, state: Mapping[str, Choice]
    ) -> tuple[Judgement, ...]:
        """Return how a relation comes out in a state, whose facts the environment has."""
        wanted = relation.mentions
        keys = (state[name].key for name in state if name in wanted or EVERYTHING in wanted)
        asked = (relation.rule.id, relation.package, *keys)
        found = self._judged.get(asked)
        if found is None:
            found = self._judged[asked] = self._evaluate(relation, environment)
        return found

    def _evaluate(self, relation: Relation, environment: Environment) -> tuple[Judgement, ...]:
        rule, package = relation.rule, relation.package
        if not package:
            return tuple(evaluate(rule, environment, self.matrix))
        return tuple(evaluate_for(rule, environment, self.matrix, package))
