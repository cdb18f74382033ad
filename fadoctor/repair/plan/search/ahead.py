"""What frameworks that are not decided yet will cost at least, beside what is decided.

A torch for which no release of a framework was compiled costs an error, whatever else comes; one
for which only older releases were compiled costs that the framework goes back. Which releases there
are follows from the torch alone, so that the search need not come to the framework to know.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

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
    from collections.abc import Callable, Hashable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.search.costing import Costs
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State

_NONE = (0, 0)
"""The errors and changes of what adds none."""


class _Way(NamedTuple):
    """What may become of a framework, and what that adds."""

    choice: Choice
    errors: int
    changed: int
    missed: int
    is_alone: bool
    """Whether nothing that nobody decides about follows from it."""


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
        self._ways: dict[Hashable, tuple[_Way, ...]] = {}
        self._alike: dict[tuple[_Need, ...], tuple[_Need, ...]] = {}
        """One object for all that need the same."""
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
        asked = (name, beside is None, *((n, choice.key) for n, choice in state.items()))
        if asked not in self._ways:
            self._ways[asked] = tuple(self._ways_of(name, state, environment, beside))
        found = (
            (
                _with(self.costs.at_least(bound, way.choice), way.errors, way.changed, way.missed),
                way,
            )
            for way in self._ways[asked]
        )
        least = min(found, key=itemgetter(0), default=None)
        return (bound, True) if least is None else (least[0], least[1].is_alone)

    def _ways_of(
        self, name: str, state: State, environment: Environment, beside: Beside | None
    ) -> Iterator[_Way]:
        """Yield what may become of a framework, and what that adds: of several the least."""
        wishes = self.problem.wishes
        pinned = wishes.pinned.get(name, "")
        here = fact_text(environment.fact(f"{name}.version"), "")
        is_missed = name in wishes.packages and (
            not is_there(environment, name) or not accepts(pinned, here)
        )
        releases = self.problem.session.candidates.releases(name, environment)
        if pinned:
            releases = tuple(each for each in releases if accepts(pinned, each.version))
        if not (is_missed and self.must_meet and releases):
            kept = keep(name)
            quarrels = self.problem.quarrels.count({**state, name: kept}, environment, name)
            more = self.unchosen.more(beside, kept) if beside is not None else _NONE
            missed = FAILS[0] if is_missed else 0
            yield _Way(kept, quarrels + more[0], more[1], missed, more == _NONE)
            if not (quarrels or missed or any(more)):
                return
        installed = fact_mapping(environment.fact("packages.installed"))
        best: tuple[int, int] | None = None
        seen: set[tuple[int, int]] = set()
        for choice in releases:
            needs = self._needs_of(choice)
            kind = (id(needs), self.unchosen.number(choice))
            if kind in seen:
                continue
            seen.add(kind)
            broken = sum(
                package in state and not satisfies(installed.get(needed, ""), specifier)
                for needed, package, specifier in needs
            )
            if best is not None and best <= (broken, 0):
                continue  # a newer release asks for no more
            more = self.unchosen.more(beside, choice) if beside is not None else _NONE
            asked = broken + more[0], more[1]
            if best is not None and best <= asked:
                continue
            best = asked
            yield _Way(choice, *asked, 0, more == _NONE)
            if best <= _NONE:
                return

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
            found = tuple(_needs(choice))
            self._needs[asked] = self._alike.setdefault(found, found)
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
