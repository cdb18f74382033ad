"""What could be otherwise: what was to stay, the machine's facts, and the Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.overlays import Overlays
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.search.constraint import Constraint
from fadoctor.sources.targets.overlay import apply_overlays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.constraint import Relaxed
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.search.wishes import Wishes

_PYTHONS_TRIED = 3
"""Nearest ones first: most files are made for all Pythons of their time."""


def kept_constraints(problem: Problem) -> Iterator[Constraint]:
    """Yield that packages were to stay as they are."""
    for package in sorted(problem.wishes.kept):
        version = fact_text(problem.environment.fact(f"{package}.version"), "")
        name = PACKAGES[package][0]
        there = f"{name} {version}" if version else f"no {name}"
        yield Constraint(f"{there} stays as it is", f"let {name} change", _unkeep(package))


def machine_constraints(problem: Problem) -> Iterator[Constraint]:
    """Yield what else could be otherwise on this machine, the cheapest first."""
    if not problem.wishes.allow_build:
        yield Constraint("nothing is compiled", "compile it here (--allow-build)", _allow_build)
    yield from _assumptions(problem)


def _assumptions(problem: Problem) -> Iterator[Constraint]:
    """Yield the facts of the machine for which the matrix names something newer."""
    tables, fact = problem.session.matrix.tables, problem.environment.fact
    driver = _newest(row.get("driver") for row in tables["driver-floors"].rows)
    glibc = _newest(row.get("glibc") for row in tables["torch-releases"].rows)
    glibc = _newest([glibc, *(row.get("glibc") for row in tables["packages-glibc"].rows)])
    if isinstance(here := fact("driver.version"), Known):
        relax = _assume(problem, Overlays(driver=driver))
        yield Constraint(f"the NVIDIA driver is {here.value}", "a newer NVIDIA driver", relax)
    if isinstance(here := fact("host.glibc"), Known):
        relax = _assume(problem, Overlays(glibc=glibc))
        yield Constraint(f"glibc is {here.value}", "a newer system or container image", relax)


def python_constraint(
    problem: Problem, can_be: Callable[[list[Constraint]], bool]
) -> Iterator[Constraint]:
    """Yield the Python, where another one alone would do."""
    here = problem.environment.fact("python.version")
    if not isinstance(here, Known):
        return
    rows = problem.session.matrix.tables["torch-releases"].rows
    minor = version_part(str(here.value), "minor")
    if minor is None:
        return
    pythons = {word for row in rows for word in _pythons(row)} - {minor}
    for python in sorted(pythons, key=lambda other: _distance(minor, other))[:_PYTHONS_TRIED]:
        relax = _assume(problem, Overlays(python_version=python))
        words = f"a new environment with Python {python}"
        found = Constraint(f"Python is {minor}", words, relax)
        if can_be([found]):
            yield found
            return


def _distance(minor: str, other: str) -> tuple[int, str]:
    """Return how many minors lie between two Pythons of one major."""
    return abs(int(minor.partition(".")[2]) - int(other.partition(".")[2])), other


def _pythons(row: Row) -> list[str]:
    return [word for word in str(row.get("python") or "").split() if not word.endswith("t")]


def _newest(cells: Iterable[object]) -> str:
    return max((cell for cell in cells if isinstance(cell, str)), key=version_key, default="")


def _unkeep(package: str) -> Relaxed:
    def relax(environment: Environment, wishes: Wishes) -> tuple[Environment, Wishes]:
        return environment, msgspec.structs.replace(wishes, kept=wishes.kept - {package})

    return relax


def _allow_build(environment: Environment, wishes: Wishes) -> tuple[Environment, Wishes]:
    return environment, msgspec.structs.replace(wishes, allow_build=True, with_tools=True)


def _assume(problem: Problem, overlays: Overlays) -> Relaxed:
    def relax(environment: Environment, wishes: Wishes) -> tuple[Environment, Wishes]:
        return apply_overlays(environment, overlays, problem.session.matrix), wishes

    return relax
