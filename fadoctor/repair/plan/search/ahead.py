"""What frameworks that are not decided yet will cost at least, beside what is decided.

A torch for which no release of a framework was compiled costs an error, whatever else comes; one
for which only older releases were compiled costs that the framework goes back. Which releases there
are follows from the torch alone, so that the search need not come to the framework to know.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.model.packages import FRAMEWORKS, TORCH, package_of
from fadoctor.repair.plan.choices.choice import Choice, keep
from fadoctor.repair.plan.choices.released import accepts, is_there
from fadoctor.repair.plan.search.shortfall import FAILS
from fadoctor.repair.plan.search.strain import Strain
from fadoctor.repair.plan.search.unchosen import Beside, Unchosen
from fadoctor.repair.plan.states.requirements import satisfies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.search.costing import Costs
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State

_NONE = (0, 0)
"""The errors and changes of what adds none."""

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
        self.unchosen = Unchosen(problem)
        self.strain = Strain(problem)

    def of(self, bound: Cost, state: State, environment: Environment) -> Cost:
        """Return a bound of the cost of all that follows from a state, by one that is lower."""
        beside = self.unchosen.beside(state)
        errors, changed = beside.costs
        bound = _with(bound, errors, changed + len(self.strain.of(state)))
        if TORCH not in state:
            return bound
        company: Beside | None = beside
        for name in self._frameworks:
            if name not in state:
                bound, is_alone = self._least(bound, name, state, environment, company)
                # what two of them ask of one package would count twice
                company = company if is_alone else None
        return bound

    def _least(
        self, bound: Cost, name: str, state: State, environment: Environment, beside: Beside | None
    ) -> tuple[Cost, bool]:
        """Return a bound with the least that a framework adds: kept as it is, or in a release.

        And whether that is for nothing that follows from it; `beside`: None where that is left out.
        """
        wishes = self.problem.wishes
        pinned = wishes.pinned.get(name, "")
        here = fact_text(environment.fact(f"{name}.version"), "")
        is_missed = name in wishes.packages and (
            not is_there(environment, name) or not accepts(pinned, here)
        )
        releases = self.problem.session.candidates.releases(name, environment)
        if pinned:
            releases = tuple(each for each in releases if accepts(pinned, each.version))
        found: list[tuple[Cost, bool]] = []
        if not (is_missed and self.must_meet and releases):
            kept = keep(name)
            quarrels = self.problem.quarrels.count({**state, name: kept}, environment, name)
            more = self.unchosen.more(beside, kept) if beside is not None else _NONE
            missed = FAILS[0] if is_missed else 0
            if not (quarrels or missed or any(more)):
                return bound, True
            least = _with(bound, quarrels + more[0], more[1], missed)
            found.append((least, more == _NONE))
        installed = fact_mapping(environment.fact("packages.installed"))
        best: tuple[int, int] | None = None
        for choice in releases:
            more = self.unchosen.more(beside, choice) if beside is not None else _NONE
            broken = sum(
                package in state and not satisfies(installed.get(needed, ""), specifier)
                for needed, package, specifier in self._needs_of(choice)
            )
            asked = broken + more[0], more[1]
            if best is not None and best <= asked:
                continue  # a newer release asks for no more
            best = asked
            found.append((_with(self.costs.at_least(bound, choice), *asked), more == _NONE))
            if best <= _NONE:
                break
        return min(found, key=itemgetter(0), default=(bound, True))

    def is_told_of(self, package: str, state: State) -> bool:
        """Return whether what a package itself adds is in a bound of what follows from a state."""
        return package in FRAMEWORKS or package in self.strain.of(state)

    def children(
        self, state: State, package: str
    ) -> Callable[[Cost, Choice, tuple[int, int]], Cost]:
        """Return what gives a bound of all that follows from one more choice for a package.

        It is handed what packages that nobody decides about add.
        """
        errors, changed = self.unchosen.beside(state).costs
        decided = {*state, package}
        refusing = self.strain.of(state).difference(decided)

        def of(cost: Cost, choice: Choice, more: tuple[int, int]) -> Cost:
            moving = refusing | self.strain.refusing(choice).difference(decided)
            return _with(cost, errors + more[0], changed + more[1] + len(moving))

        return of

    def _needs_of(self, choice: Choice) -> tuple[_Need, ...]:
        asked = (choice.package, choice.version)
        if asked not in self._needs:
            self._needs[asked] = tuple(_needs(choice))
        return self._needs[asked]


def _needs(choice: Choice) -> Iterator[_Need]:
    for name, specifier in fact_mapping(choice.facts[f"{choice.package}.requires"]).items():
        yield name, package_of(name, name), specifier


def _with(cost: Cost, errors: int, changed: int = 0, missed: int = 0) -> Cost:
    if not (errors or changed or missed):
        return cost
    return msgspec.structs.replace(
        cost,
        errors=cost.errors + errors,
        missed=cost.missed + missed,
        changed=cost.changed + changed,
    )
