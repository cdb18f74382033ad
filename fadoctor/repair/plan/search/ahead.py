"""What frameworks that are not decided yet will cost at least, beside what is decided.

A torch for which no release of a framework was compiled costs an error, whatever else comes; one
for which only older releases were compiled costs that the framework goes back. Which releases there
are follows from the torch alone, so that the search need not come to the framework to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.model.packages import FRAMEWORKS, TORCH, package_of
from fadoctor.repair.plan.choices.choice import Choice, keep
from fadoctor.repair.plan.choices.released import accepts, is_there
from fadoctor.repair.plan.search.shortfall import FAILS
from fadoctor.repair.plan.states.requirements import satisfies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.search.costing import Costs
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State

_Need = tuple[str, str, str]
"""A distribution, its package, and the range that is asked for."""


class CostsAhead:
    """That of one search."""

    def __init__(self, problem: Problem, costs: Costs, *, must_meet: bool) -> None:
        """Take the problem; `must_meet`: a state that misses a wish is of no use."""
        self.problem, self.costs, self.must_meet = problem, costs, must_meet
        self._frameworks = tuple(
            name
            for name in problem.packages
            if name in FRAMEWORKS and (name in problem.there or name in problem.wishes.asked)
        )
        self._needs: dict[tuple[str, str], tuple[_Need, ...]] = {}

    def of(self, bound: Cost, state: State, environment: Environment) -> Cost:
        """Return a bound of the cost of all that follows from a state, by one that is lower."""
        if TORCH not in state:
            return bound
        for name in self._frameworks:
            if name not in state:
                bound = self._least(bound, name, state, environment)
        return bound

    def _least(self, bound: Cost, name: str, state: State, environment: Environment) -> Cost:
        """Return a bound with the least that a framework adds: kept as it is, or in a release."""
        wishes = self.problem.wishes
        pinned = wishes.pinned.get(name, "")
        here = fact_text(environment.fact(f"{name}.version"), "")
        is_missed = name in wishes.packages and (
            not is_there(environment, name) or not accepts(pinned, here)
        )
        releases = [
            choice
            for choice in self.problem.session.candidates.releases(name, environment)
            if accepts(pinned, choice.version)
        ]
        least = None if is_missed and self.must_meet and releases else bound
        if least is not None:
            quarrels = self.problem.quarrels.count({**state, name: keep(name)}, environment, name)
            missed = FAILS[0] if is_missed else 0
            if not (quarrels or missed):
                return bound
            least = _with(bound, quarrels, missed)
        installed = fact_mapping(environment.fact("packages.installed"))
        for choice in releases:
            cost = self.costs.at_least(bound, choice)
            if least is not None and least <= cost:
                continue
            broken = sum(
                package in state and not satisfies(installed.get(needed, ""), specifier)
                for needed, package, specifier in self._needs_of(choice)
            )
            cost = _with(cost, broken)
            least = cost if least is None else min(least, cost)
        return bound if least is None else least

    def _needs_of(self, choice: Choice) -> tuple[_Need, ...]:
        asked = (choice.package, choice.version)
        if asked not in self._needs:
            self._needs[asked] = tuple(_needs(choice))
        return self._needs[asked]


def _needs(choice: Choice) -> Iterator[_Need]:
    for name, specifier in fact_mapping(choice.facts[f"{choice.package}.requires"]).items():
        yield name, package_of(name, name), specifier


def _with(cost: Cost, errors: int, missed: int = 0) -> Cost:
    if not (errors or missed):
        return cost
    return msgspec.structs.replace(cost, errors=cost.errors + errors, missed=cost.missed + missed)
