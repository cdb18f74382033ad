"""Prove a plan: judge the environment as it would be afterwards, with every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.engine.judge import Assessment, judge
from fadoctor.matrix.kernels import Kernels
from fadoctor.model.fact import Absent
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.plan import Proof
from fadoctor.model.verdict import Predicted
from fadoctor.plan.count import FAILS, Answer, best_answers
from fadoctor.plan.requirements import violations
from fadoctor.plan.wishes import HALF, wish_text
from fadoctor.verdicts.predict import predict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Verdict
    from fadoctor.plan.problem import Problem


def prove(problem: Problem, after: Environment) -> tuple[Proof, Assessment]:
    """Return what is left wrong after a plan. Pure, and nothing of the search is believed."""
    session = problem.session
    assessment = judge(after, session.knowledge, session.matrix)
    verdicts = predict(Kernels(after, session.matrix), assessment)
    failed = [
        each
        for each in assessment.judgements
        if each.outcome is Outcome.FAIL and each.severity is Severity.ERROR
    ]
    forgiven = [each for each in failed if each.outdone or problem.is_excused(verdicts, each)]
    excused = {each.rule.id for each in forgiven}
    errors = {each.rule.id for each in failed if each not in forgiven}
    working = {(v.gpu, v.backend, v.dtype) for v in verdicts if v.predicted is Predicted.WORKS}
    lost = sorted(
        f"{gpu.partition(' ')[0]} {backend.value} {dtype.value}"
        for gpu, backend, dtype in problem.worked - working
    )
    broken = [
        each.text
        for each in violations(after, problem.requirements(after))
        if (each.distribution, each.needs) not in problem.broken_before
    ]
    proof = Proof(
        errors=tuple(sorted(errors)),
        by_setting=tuple(sorted(excused)),
        missed=tuple(_missed(problem, after, verdicts, assessment)),
        lost=tuple(lost),
        requirements=tuple(broken),
        unknown=tuple(sorted(set(_unknown(problem, verdicts)))),
    )
    return proof, assessment


def _missed(
    problem: Problem, after: Environment, verdicts: Iterable[Verdict], assessment: Assessment
) -> Iterable[str]:
    for package in problem.wishes.packages:
        if isinstance(after.fact(f"{package}.version"), Absent):
            yield f"{package} is not installed"
    best: Mapping[object, Answer] = best_answers(verdicts, assessment.judgements)  # type: ignore[assignment] # read only
    for gpu, backend in (*problem.wishes.cells, *problem.wishes.hopeless):
        if best.get((gpu.label, backend), FAILS) == FAILS:
            yield f"{wish_text((gpu, backend))} fails"


def _unknown(problem: Problem, verdicts: Iterable[Verdict]) -> Iterable[str]:
    """Yield why wished cells cannot be decided, of those that work in no half-precision dtype."""
    wished = {(gpu.label, backend) for gpu, backend in problem.wishes.cells}
    found = [v for v in verdicts if v.dtype in HALF and (v.gpu, v.backend) in wished]
    proved = {(v.gpu, v.backend) for v in found if v.predicted is Predicted.WORKS}
    for verdict in found:
        cell = (verdict.gpu, verdict.backend)
        if cell not in proved and verdict.predicted is Predicted.UNKNOWN:
            yield f"{verdict.backend.value}: {verdict.detail or ', '.join(verdict.because)}"
