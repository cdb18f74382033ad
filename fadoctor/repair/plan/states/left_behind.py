"""Packages that a release which goes required, and that nothing requires afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import PACKAGES, package_of

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem


def left_behind(problem: Problem, after: Environment) -> frozenset[str]:
    """Return the distributions that only releases which go have required.

    What the release in its place requires is told by a table; where none tells, nothing is left
    behind. No package of the stack is: somebody may have installed it for itself.
    """
    helpers = problem.session.candidates.helpers
    before = fact_mapping(problem.environment.fact("packages.installed"))
    there = fact_mapping(after.fact("packages.installed"))
    changed = {name for name, version in there.items() if before.get(name, version) != version}
    needs, later = problem.requirements(problem.environment), problem.requirements(after)
    told = {name: helpers.declared(name, there[name]) for name in changed}
    gone = {each for name in changed if told[name] for each in (*needs.get(name, ()),)}
    wanted = {each for name in there for each in (*later.get(name, ()), *told.get(name, ()))}
    return frozenset(name for name in gone - wanted if package_of(name, name) not in PACKAGES)
