"""How many packages have to follow what is decided: each of them moves, goes, or is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import FRAMEWORKS, package_of
from fadoctor.repair.plan.states.requirements import requirements_of, satisfies

if TYPE_CHECKING:
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State


class Strain:
    """That of one problem: who requires which versions of the packages that are decided."""

    def __init__(self, problem: Problem) -> None:
        """Read what is installed, and what it requires."""
        there = fact_mapping(problem.environment.fact("packages.installed"))
        self._here = {package_of(name, name): version for name, version in there.items()}
        among = {*problem.packages}
        self._askers: dict[str, list[tuple[str, str]]] = {}
        for name, needs in requirements_of(problem.environment, problem.others).items():
            if not there.get(name):
                continue
            for needed, specifier in needs.items():
                package, asking = package_of(needed, needed), package_of(name, name)
                is_known = asking in FRAMEWORKS or (name, needed) in problem.broken_before
                if specifier and {package, asking} <= among and not is_known:
                    self._askers.setdefault(package, []).append((asking, specifier))
        self._refusing: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, state: State) -> frozenset[str]:
        """Return the packages that refuse, as they are, a version of a state.

        Those that are decided are left out: what they cost is known. Frameworks are looked at
        themselves, and what was refused before may stay so.
        """
        chosen = (state[name] for name in self._askers if name in state)
        return frozenset().union(*map(self.refusing, chosen)).difference(state)

    def refusing(self, choice: Choice) -> frozenset[str]:
        """Return the packages that refuse, as they are, what is chosen of another."""
        version = choice.version if choice.is_change else self._here.get(choice.package, "")
        asked = (choice.package, version)
        if asked not in self._refusing:
            self._refusing[asked] = frozenset(
                asker
                for asker, specifier in self._askers.get(choice.package, ())
                if version and not satisfies(version, specifier)
            )
        return self._refusing[asked]
