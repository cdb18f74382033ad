"""Why a wish cannot be met: the smallest set of facts that conflict, and what could be given up.

Each fact and each condition of the user's that could be otherwise is a constraint. Without all of
them the wish can be met, or no release that is known meets it. One after the other is taken away;
what must stay for the conflict to stay is the smallest set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.diagnose import foresee
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Gpu, Kernels
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Unknown, fact_text
from fadoctor.model.packages import PACKAGES
from fadoctor.model.plan import Alternative, Conflict
from fadoctor.model.plan_words import OPEN_PYTHON
from fadoctor.repair.plan.choices.build import missing_tools
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.hub.hub_ways import changes_of, hub_conflict, hub_instead
from fadoctor.repair.plan.proof import prove
from fadoctor.repair.plan.search.constraints import (
    kept_constraints,
    machine_constraints,
    python_constraint,
)
from fadoctor.repair.plan.search.own_attention import OwnAttention
from fadoctor.repair.plan.search.problem import Base, Problem
from fadoctor.repair.plan.search.shortfall import FAILS, best_answers
from fadoctor.repair.plan.search.solve import ALL_STEPS, NODE_LIMIT, can_meet, solve_wishes
from fadoctor.repair.plan.search.wished_names import HUB
from fadoctor.repair.plan.search.wishes import has_kernel, wish_text
from fadoctor.repair.plan.states.requirements import violations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Backend, Verdict
    from fadoctor.repair.plan.search.constraint import Constraint
    from fadoctor.repair.plan.search.solution import Solution


_NO_COMBINATION = "no known combination of releases works"

_LEAST_STEPS = 450
"""Steps of a search when those are used up."""


def explain_conflicts(
    problem: Problem, base: Base, missed: Iterable[tuple[Gpu, Backend]], after: tuple[Verdict, ...]
) -> Iterator[Conflict]:
    """Yield why cells cannot be made to work, and what else could be done.

    What the hardware forbids is told for each cell. The others are asked for together: one answer
    that helps all is worth more than several.
    """
    kernels = problem.kernels
    own = OwnAttention(problem, base, after)
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
        yield Conflict(wish_text((gpu, backend)), words, tuple(own.instead(gpu)))
    if open_:
        yield from _open_conflicts(problem, base, tuple(open_), own)


def kept_conflicts(problem: Problem, after: Environment) -> Iterator[Conflict]:
    """Yield the packages that must stay as they are, and cannot stay together."""
    kept = {name for package in problem.wishes.kept for name in PACKAGES[package]}
    for each in violations(after, problem.requirements(after)):
        if each.distribution in kept and each.needs in kept:
            wish = f"{each.distribution} and {each.needs} as they are"
            choices = (each.distribution, each.needs)
            instead = tuple(Alternative(f"let {name} change", ()) for name in choices)
            yield Conflict(wish, (each.text,), instead)


def _open_conflicts(
    problem: Problem, base: Base, wish: tuple[tuple[Gpu, Backend], ...], own: OwnAttention
) -> Iterator[Conflict]:
    """Yield what conflicts; nothing where nothing does that is known, of what no table knows.

    Cells that no release makes work together have reasons of their own, whatever is given up.
    """
    found = _open_conflict(problem, base, wish, own)
    if found is None or found.because:
        yield from () if found is None else (found,)
        return
    met = _met_together(problem, base, wish)
    first = _open_conflict(problem, base, met, own) if met and met != wish else None
    if first is None or not first.because:
        is_open = isinstance(problem.environment.fact("python.version"), Unknown)
        because = f"{OPEN_PYTHON}no release can be chosen" if is_open else _NO_COMBINATION
        yield msgspec.structs.replace(found, because=(because,))
        return
    yield first
    apart = f"{_NO_COMBINATION} together with {_named(met)}"
    for each in _open_conflicts(problem, base, tuple(c for c in wish if c not in met), own):
        yield msgspec.structs.replace(each, because=(*each.because, apart))


def _met_together(
    problem: Problem, base: Base, wish: tuple[tuple[Gpu, Backend], ...]
) -> tuple[tuple[Gpu, Backend], ...]:
    """Return as many cells, in their order, as work together once every constraint is given up."""
    constraints = [*kept_constraints(problem), *machine_constraints(problem)]
    met: tuple[tuple[Gpu, Backend], ...] = ()
    for cell in wish:
        if _Question(problem, base, (*met, cell)).can_be(constraints):
            met = (*met, cell)
    return met


def _named(wish: tuple[tuple[Gpu, Backend], ...]) -> str:
    return ", ".join(wish_text(cell) for cell in wish)


def _open_conflict(
    problem: Problem, base: Base, wish: tuple[tuple[Gpu, Backend], ...], own: OwnAttention
) -> Conflict | None:
    """Return what conflicts, with no reason where no release is known that meets the wish."""
    question = _Question(problem, base, wish)
    constraints, harm = list(kept_constraints(problem)), Harm()
    if question.can_be([]):
        harm = question.harm()
    else:
        constraints += machine_constraints(problem)
        constraints += python_constraint(problem, question.can_be)
    ways = [(each, question.without(each, harm.errors)) for each in constraints]
    alternatives = [found for _, found in ways if found is not None]
    because = [each for each, found in ways if found is not None]
    if not harm.words:
        because = question.smallest(constraints)
    instead = [found for gpu in dict.fromkeys(gpu for gpu, _ in wish) for found in own.instead(gpu)]
    words = (*(each.words for each in because), *harm.words)
    if not words and problem.is_beyond_tables:
        return None
    return Conflict(_named(wish), words, (*alternatives, *hub_instead(problem, base), *instead))


class Harm(msgspec.Struct, frozen=True):
    """What a wish that can be met would break."""

    errors: int = 0
    words: tuple[str, ...] = ()


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
        hub = frozenset(HUB.values())  # of most of its kernels nobody can prove that they work
        wishes = msgspec.structs.replace(self.problem.wishes, cells=self.wish, hoped=hub)
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
            self._answers[asked] = problem is not None and self._is_met(problem)
        return self._answers[asked]

    def _is_met(self, problem: Problem) -> bool:
        """Return whether a search that is cut off meets the wish."""
        found, steps = can_meet(problem, self._limit)
        self.problem.steps += steps
        return found

    @property
    def _limit(self) -> int:
        """The steps of one search: what is explained is a part of the plan."""
        return min(NODE_LIMIT, max(ALL_STEPS - self.problem.steps, _LEAST_STEPS))

    def _solved(self, problem: Problem) -> Solution | None:
        """Return the best state found that meets the wish."""
        found = solve_wishes(problem, self._limit)
        self.problem.steps += self._limit if found is None else found.nodes
        return found

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

    def harm(self) -> Harm:
        """Return what breaks where the wish is met although nothing is given up."""
        problem = self.problem_without([])
        solution = self._solved(problem) if problem is not None else None
        if problem is None or solution is None:
            return Harm()
        after = problem.post.after(problem.environment, solution.changes)
        proof, assessment = prove(problem, after)
        there = {finding.rule_id for finding in self.base.findings}
        broken = set(proof.errors) - there
        found = [each.message for each in assessment.findings if each.rule_id in broken]
        words = [*dict.fromkeys(text.rstrip(".") for text in found)] or [*proof.requirements]
        coming = (c for c in solution.changes if c.version and c.kind is not ChoiceKind.REMOVE)
        first = next((f"{c.distribution} {c.version}" for c in coming), "")
        if words and first:
            words[0] = f"it needs {first}, and then {words[0]}"
        return Harm(solution.cost.errors, tuple(words))

    def without(self, constraint: Constraint, errors: int = 0) -> Alternative | None:
        """Return what is possible if one constraint alone is given up.

        What then cannot be decided of what is here, nobody asked to be replaced. `errors`: what is
        met breaks so much as it is, and must break less then; 0 where it cannot be met.
        """
        problem = self.problem_without([constraint]) if self.can_be([constraint]) else None
        if problem is not None:
            cells = _still_wished(problem)
            problem.wishes = msgspec.structs.replace(problem.wishes, cells=cells)
        solution = self._solved(problem) if problem is not None else None
        if problem is None or solution is None or (errors and solution.cost.errors >= errors):
            return None
        after = problem.post.after(problem.environment, solution.changes)
        needs = [
            need
            for choice in solution.changes
            if choice.kind is ChoiceKind.BUILD
            for need in missing_tools(after, problem.session.matrix, choice.version)
        ]
        return Alternative(constraint.give_up, tuple(changes_of(problem, solution)), tuple(needs))


def _still_wished(problem: Problem) -> tuple[tuple[Gpu, Backend], ...]:
    """Return the wished cells that fail where nothing is changed, or that were asked for."""
    matrix, environment = problem.session.matrix, problem.environment
    assessment = foresee(environment, problem.session.knowledge).assessment
    verdicts = predict(Kernels(environment, matrix), assessment)
    best = best_answers(verdicts, assessment.judgements, environment)
    return tuple(
        (gpu, backend)
        for gpu, backend in problem.wishes.cells
        if problem.kernels.package(backend) in problem.wishes.asked
        or best.get((gpu.label, backend), FAILS) == FAILS
    )
