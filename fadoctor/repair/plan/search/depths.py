"""Once how many packages are decided a rule can be judged, and a backend be predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import package_of
from fadoctor.repair.plan.states.requirements import satisfies
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.verdict import Backend
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import Relation


class Depths:
    """Those of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem, whose order is known."""
        self.problem = problem

    def _place(self, package: str) -> int:
        """Return the depth at which a package is decided; 0 for one that is never asked."""
        order = self.problem.order
        return order.index(package) + 1 if package in order else 0

    def of_relation(self, relation: Relation) -> int:
        """Return where a rule is judged: with the last of the packages that decide it."""
        if EVERYTHING in relation.decided_by:
            return len(self.problem.packages)
        return max(map(self._place, relation.decided_by), default=0)

    def of_backend(self, backend: Backend) -> int:
        """Return where a backend is decided: with what its package lacks and a fix would install.

        Earlier it would look missed, and a later choice would take that back.
        """
        packages = self.problem.kernels.decided_by(backend)
        lacking = (name for package in packages for name in self._lacking(package))
        return max(map(self._place, (*packages, *lacking)))

    def _lacking(self, package: str) -> Iterator[str]:
        """Yield the packages to be decided by which what a package lacks may come."""
        problem = self.problem
        there = fact_mapping(problem.environment.fact("packages.installed"))
        needs = fact_mapping(problem.environment.fact(f"{package}.requires"))
        for name, specifier in needs.items():
            key = package_of(name, name)
            is_met = name in there and satisfies(there[name], specifier)
            if name in problem.offers or (key in problem.packages and not is_met):
                yield key
