"""What rules told of states before: of one that is alike to a rule, it tells the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.finding import Severity
from fadoctor.repair.plan.search.shortfall import failures
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import Relation, State


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
        self._silent: dict[Hashable, set[str]] = {}
        """The rules that told nothing, by what decides these."""

    def _decided_at(self, depth: int, relation: Relation) -> tuple[str, ...]:
        """Return which packages decide a rule at a depth, in order; none where all may."""
        if EVERYTHING in relation.decided_by:
            return ()
        return tuple(name for name in self._problem.order[:depth] if name in relation.decided_by)

    def telling(
        self, relations: Sequence[Relation], state: State
    ) -> Iterator[tuple[int, Relation]]:
        """Yield the relations of a depth, with their places, that may tell something of a state."""
        names = self._names[len(state)]
        silent: dict[tuple[str, ...], Collection[str]] = {
            each: self._silent.get(_chosen(each, state), ()) for each in self._deciding[len(state)]
        }
        silent[()] = ()
        for place, relation in enumerate(relations):
            if relation.key not in silent[names[relation.key]]:
                yield place, relation

    def learn(self, relation: Relation, state: State, told: Sequence[Judgement]) -> int:
        """Take in what a rule tells of a state; return how many errors that is."""
        names = self._names[len(state)][relation.key]
        if not told:
            if names:
                self._silent.setdefault(_chosen(names, state), set()).add(relation.key)
            return 0
        errors = failures(told, Severity.ERROR, self._may_be_excused)
        warnings = failures(told, Severity.WARNING, self._may_be_excused)
        if names and (errors or warnings):
            found = self._found.setdefault(_chosen(names, state), {})
            found[relation.key] = errors, warnings
        return errors

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
