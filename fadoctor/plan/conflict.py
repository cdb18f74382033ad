"""Why a wish cannot be met: the smallest set of facts that conflict, and what could be given up.

Each fact and each condition of the user's that could be otherwise is a constraint. Without all of
them the wish can be met, or no release that is known meets it. One after the other is taken away;
what must stay for the conflict to stay is the smallest set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.diagnose import foresee
from fadoctor.matrix.kernels import Gpu, Kernels
from fadoctor.matrix.versions import version_key, version_part
from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.overlays import Overlays
from fadoctor.model.plan import Alternative, Conflict
from fadoctor.model.verdict import Backend, Predicted
from fadoctor.plan.build import missing_tools
from fadoctor.plan.choice import Kind
from fadoctor.plan.constraint import Constraint
from fadoctor.plan.count import FAILS, best_answers
from fadoctor.plan.hub_ways import changes_of, hub_conflict, hub_instead
from fadoctor.plan.problem import Base, Problem
from fadoctor.plan.requirements import violations
from fadoctor.plan.solve import can_meet, solve_wishes
from fadoctor.plan.wishes import HUB, Wishes, has_kernel, wish_text
from fadoctor.targets.overlay import apply_overlays
from fadoctor.verdicts.predict import predict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.matrix.query import Row
    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Verdict
    from fadoctor.plan.constraint import Relaxed


_OWN = (Backend.SDPA_FLASH, Backend.SDPA_EFFICIENT)
_INSTEAD = {
    Predicted.WORKS: "nothing has to be installed",
    Predicted.UNKNOWN: "nothing has to be installed; that it works here is not proved",
}
"""What is said of torch's own attention, the better answer first."""

_PYTHONS_TRIED = 3
"""Nearest ones first: most files are made for all Pythons of their time."""


def explain_conflicts(
    problem: Problem, base: Base, missed: Iterable[tuple[Gpu, Backend]], after: tuple[Verdict, ...]
) -> Iterator[Conflict]:
    """Yield why cells cannot be made to work, and what else could be done.

    What the hardware forbids is told for each cell. The others are asked for together: one answer
    that helps all is worth more than several.
    """
    kernels = problem.kernels
    missed = tuple(missed)
    offline = tuple(hub_conflict(problem, [cell for cell in missed if cell[1] in HUB.values()]))
    yield from offline
    open_ = []
    for gpu, backend in missed:
        if offline and backend in HUB.values():
            continue
        if has_kernel(kernels, backend, gpu):
            open_.append((gpu, backend))
            continue
        words = (
            f"{gpu.label} has compute capability {fact_text(gpu.capability, 'unknown')}",
            f"no known release of {kernels.label(backend)} has kernels for it",
        )
        yield Conflict(wish_text((gpu, backend)), words, tuple(_instead(gpu, after)))
    if open_:
        yield _open_conflict(problem, base, tuple(open_), after)


def kept_conflicts(problem: Problem, after: Environment) -> Iterator[Conflict]:
    """Yield the packages that must stay as they are, and cannot stay together."""
    kept = {name for package in problem.wishes.kept for name in PACKAGES[package]}
    for each in violations(after, problem.requirements(after)):
        if each.distribution in kept and each.needs in kept:
            wish = f"{each.distribution} and {each.needs} as they are"
            choices = (each.distribution, each.needs)
            instead = tuple(Alternative(f"let {name} change", ()) for name in choices)
            yield Conflict(wish, (each.text,), instead)


def _open_conflict(
    problem: Problem, base: Base, wish: tuple[tuple[Gpu, Backend], ...], after: tuple[Verdict, ...]
) -> Conflict:
    question = _Question(problem, base, wish)
    constraints = [*_constraints(problem), *_python(problem, question)]
    because = question.smallest(constraints)
    alternatives = [found for each in constraints if (found := question.without(each)) is not None]
    instead = [
        found for gpu in dict.fromkeys(gpu for gpu, _ in wish) for found in _instead(gpu, after)
    ]
    words = tuple(each.words for each in because) or ("no known combination of releases does it",)
    named = ", ".join(wish_text(cell) for cell in wish)
    return Conflict(named, words, (*alternatives, *hub_instead(problem, base), *instead))


class _Question:
    """Whether cells can be made to work when some constraints do not hold."""

    def __init__(self, problem: Problem, base: Base, wish: tuple[tuple[Gpu, Backend], ...]) -> None:
        self.problem = problem
        self.base = base
        self.wish = wish
        self._answers: dict[tuple[str, ...], bool] = {}

    def problem_without(self, relaxed: list[Constraint]) -> Problem | None:
        """Return the problem without some constraints, None where that cannot be thought."""
        environment = self.problem.environment
        wishes = msgspec.structs.replace(self.problem.wishes, cells=self.wish)
        try:
            for each in relaxed:
                environment, wishes = each.relax(environment, wishes)
        except UsageError:
            return None
        return Problem(self.problem.session, environment, wishes, self.base, self.problem.others)

    def can_be(self, relaxed: list[Constraint]) -> bool:
        """Return whether the wish can be met at all without these constraints."""
        asked = tuple(each.give_up for each in relaxed)
        if asked not in self._answers:
            problem = self.problem_without(relaxed)
            self._answers[asked] = problem is not None and can_meet(problem)
        return self._answers[asked]

    def smallest(self, constraints: list[Constraint]) -> list[Constraint]:
        """Return a smallest set of constraints under which the wish cannot be met."""
        if not self.can_be(constraints):
            return []
        holding = list(constraints)
        for each in constraints:
            fewer = [other for other in holding if other is not each]
            relaxed = [other for other in constraints if other not in fewer]
            if not self.can_be(relaxed):
                holding = fewer
        return holding

    def without(self, constraint: Constraint) -> Alternative | None:
        """Return what is possible if one constraint alone is given up.

        What then cannot be decided of what is here, nobody asked to be replaced.
        """
        problem = self.problem_without([constraint]) if self.can_be([constraint]) else None
        if problem is not None:
            cells = _still_wished(problem)
            problem.wishes = msgspec.structs.replace(problem.wishes, cells=cells)
        solution = solve_wishes(problem) if problem is not None else None
        if problem is None or solution is None:
            return None
        after = problem.session.post.after(problem.environment, solution.changes)
        needs = [
            need
            for choice in solution.changes
            if choice.kind is Kind.BUILD
            for need in missing_tools(after, problem.session.matrix, choice.version)
        ]
        return Alternative(constraint.give_up, tuple(changes_of(problem, solution)), tuple(needs))


def _still_wished(problem: Problem) -> tuple[tuple[Gpu, Backend], ...]:
    """Return the wished cells that fail where nothing is changed, or that were asked for."""
    matrix, environment = problem.session.matrix, problem.environment
    assessment = foresee(environment, problem.session.knowledge).assessment
    verdicts = predict(Kernels(environment, matrix), assessment)
    best = best_answers(verdicts, assessment.judgements)
    return tuple(
        (gpu, backend)
        for gpu, backend in problem.wishes.cells
        if problem.kernels.package(backend) in problem.wishes.asked
        or best.get((gpu.label, backend), FAILS) == FAILS
    )


def _instead(gpu: Gpu, after: Iterable[Verdict]) -> Iterator[Alternative]:
    """Yield torch's own attention, where it works on the same GPU, or may."""
    own = [v for v in after if v.backend in _OWN and v.gpu == gpu.label]
    for answer, words in _INSTEAD.items():
        for verdict in own:
            if verdict.predicted is answer:
                name = f"use torch's own attention ({verdict.backend.value}, {verdict.dtype.value})"
                yield Alternative(f"{name}: {words}", ())
                return


def _constraints(problem: Problem) -> Iterator[Constraint]:
    """Yield what could be otherwise, the cheapest first."""
    wishes = problem.wishes
    for package in sorted(wishes.kept):
        version = fact_text(problem.environment.fact(f"{package}.version"), "")
        name = PACKAGES[package][0]
        there = f"{name} {version}" if version else f"no {name}"
        yield Constraint(f"{there} stays as it is", f"let {name} change", _unkeep(package))
    if not wishes.allow_build:
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


def _python(problem: Problem, question: _Question) -> Iterator[Constraint]:
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
        if question.can_be([found]):
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
