"""What rules told of states before: of one that is alike to a rule, it tells the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.finding import Severity
from fadoctor.repair.plan.search.shortfall import failures
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import Relation, State


class Told:
    """That of one search: a choice that a rule refused is left out before it is applied."""

    def __init__(self, problem: Problem, relations: Sequence[Sequence[Relation]]) -> None:
        """Take the relations that are judged at each depth."""
        self._problem = problem
        self._deciding = [
            self._decided_at(depth, some) if depth else () for depth, some in enumerate(relations)
        ]
        self._found: dict[Hashable, dict[str, tuple[int, int]]] = {}
        """The errors and warnings that rules found, by what decides these, and their names."""

    def _decided_at(self, depth: int, relations: Sequence[Relation]) -> tuple[tuple[str, ...], ...]:
        """Return which packages decide rules at a depth, in order."""
        before = self._problem.order[:depth]
        found = (
            tuple(name for name in before if name in relation.decided_by)
            for relation in relations
            if EVERYTHING not in relation.decided_by
        )
        return tuple(dict.fromkeys(found))

    def learn(self, relation: Relation, state: State, told: Sequence[Judgement]) -> int:
        """Take in what a rule tells of a state; return how many errors that is."""
        errors = failures(told, Severity.ERROR, self._may_be_excused)
        warnings = failures(told, Severity.WARNING, self._may_be_excused)
        if EVERYTHING not in relation.decided_by and (errors or warnings):
            among = relation.decided_by
            asked = tuple((name, each.key) for name, each in state.items() if name in among)
            self._found.setdefault(asked, {})[relation.key] = errors, warnings
        return errors

    def within(self, least: Cost, state: State) -> Cost:
        """Return a bound with what rules told before of what decides them in a state."""
        errors = warnings = 0
        for names in self._deciding[len(state)]:
            told = self._found.get(tuple((name, state[name].key) for name in names))
            for each in told.values() if told else ():
                errors += each[0]
                warnings += each[1]
        if not (errors or warnings):
            return least
        return msgspec.structs.replace(
            least, errors=least.errors + errors, warnings=least.warnings + warnings
        )

    def _may_be_excused(self, each: Judgement) -> bool:
        return self._problem.may_be_excused((), each)
