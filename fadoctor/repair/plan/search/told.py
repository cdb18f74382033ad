"""What rules told of states before: of one that is alike to a rule, it tells the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.finding import Severity
from fadoctor.repair.plan.search.shortfall import failures
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import Relation, State


_NONE = (0, 0)
"""The errors and warnings of what tells none."""


class Told:
    """That of one search: a choice that a rule refused is left out before it is applied."""

    def __init__(self, problem: Problem, relations: Sequence[Sequence[Relation]]) -> None:
        """Take the relations that are judged at each depth."""
        self._problem = problem
        self._names = [
            {each.key: self._decided_at(depth, each) for each in some}
            for depth, some in enumerate(relations)
        ]
        self._deciding = [
            tuple(dict.fromkeys(names for names in each.values() if names)) for each in self._names
        ]
        self._found: dict[Hashable, dict[str, tuple[int, int]]] = {}
        """The errors and warnings that rules found, by what decides these, and their names."""
        self._judged: dict[Hashable, dict[str, Sequence[Judgement]]] = {}
        """All that rules told, by what decides these, and their names."""

    def _decided_at(self, depth: int, relation: Relation) -> tuple[str, ...]:
        """Return which packages decide a rule at a depth, in order; none where all may."""
        if EVERYTHING in relation.decided_by:
            return ()
        return tuple(name for name in self._problem.order[:depth] if name in relation.decided_by)

    def of(
        self, relations: Sequence[Relation], state: State, environment: Environment
    ) -> Iterator[tuple[int, Sequence[Judgement], int]]:
        """Yield what the relations of a depth tell of a state: place, judgements, and errors.

        Those that tell nothing are left out. Of choices that decided a rule before, it tells the
        same again.
        """
        names = self._names[len(state)]
        chosen = {each: _chosen(each, state) for each in self._deciding[len(state)]}
        before = {each: self._judged.setdefault(key, {}) for each, key in chosen.items()}
        errors = {each: self._found.setdefault(key, {}) for each, key in chosen.items()}
        for place, relation in enumerate(relations):
            key, deciding = relation.key, names[relation.key]
            told = before[deciding].get(key) if deciding else None
            if told is None:
                told = self._problem.judge(relation, environment)
                found = self._counted(told)
                if deciding:
                    before[deciding][key] = told
                    if any(found):
                        errors[deciding][key] = found
            elif told:
                found = errors[deciding].get(key, _NONE)
            if told:
                yield place, told, found[0]

    def _counted(self, told: Sequence[Judgement]) -> tuple[int, int]:
        """Return how many errors and warnings a rule tells."""
        if not told:
            return _NONE
        return (
            failures(told, Severity.ERROR, self._may_be_excused),
            failures(told, Severity.WARNING, self._may_be_excused),
        )

    def within(self, least: Cost, state: State) -> Cost:
        """Return a bound with what rules told before of what decides them in a state."""
        errors = warnings = 0
        for names in self._deciding[len(state)]:
            told = self._found.get(_chosen(names, state))
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


def _chosen(names: tuple[str, ...], state: State) -> tuple[tuple[str, str], ...]:
    """Return what tells apart the choices of a state that decide a rule."""
    return tuple((name, state[name].key) for name in names)
