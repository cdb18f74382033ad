"""How many packages would have to follow what is decided: the search tries the fewest first."""

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
        self._askers: dict[str, list[tuple[str, str]]] = {}
        for name, needs in requirements_of(problem.environment, problem.others).items():
            if not there.get(name):
                continue
            for needed, specifier in needs.items():
                if specifier and (package := package_of(needed, needed)) in problem.packages:
                    asker = (package_of(name, name), specifier)
                    self._askers.setdefault(package, []).append(asker)
        self._refusing: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, state: State) -> tuple[int, int]:
        """Return how many packages, as they are, refuse a version of a state: frameworks, others.

        Those that are decided are left out: what they cost is known.
        """
        chosen = (state[name] for name in self._askers if name in state)
        refusing = frozenset().union(*map(self._refusing_of, chosen)).difference(state)
        if not refusing:
            return 0, 0
        frameworks = sum(name in FRAMEWORKS for name in refusing)
        return frameworks, len(refusing) - frameworks

    def _refusing_of(self, choice: Choice) -> frozenset[str]:
        version = choice.version if choice.is_change else self._here.get(choice.package, "")
        asked = (choice.package, version)
        if asked not in self._refusing:
            self._refusing[asked] = frozenset(
                asker
                for asker, specifier in self._askers.get(choice.package, ())
                if version and not satisfies(version, specifier)
            )
        return self._refusing[asked]
