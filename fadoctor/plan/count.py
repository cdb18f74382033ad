"""Count what a state leaves undone: errors, missed wishes, lost cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent
from fadoctor.model.finding import Outcome
from fadoctor.model.verdict import Predicted
from fadoctor.plan.wishes import HALF

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from fadoctor.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Severity
    from fadoctor.model.verdict import Backend, Dtype, Verdict
    from fadoctor.plan.wishes import Wishes

FAILS, UNDECIDED = 2, 1

_PENALTIES = {Predicted.WORKS: 0, Predicted.UNKNOWN: UNDECIDED, Predicted.FAILS: FAILS}


def failures(
    judgements: Iterable[Judgement], severity: Severity, is_excused: Callable[[Judgement], bool]
) -> int:
    """Return how many rules of a severity fail, and are not excused."""
    return sum(
        each.outcome is Outcome.FAIL and each.severity is severity and not is_excused(each)
        for each in judgements
    )


def count_missed(
    wishes: Wishes,
    decided: Container[str],
    environment: Environment,
    verdicts: Iterable[Verdict],
    backends: Container[Backend],
) -> int:
    """Return what is missing of the wishes, as far as packages and backends are decided."""
    gone = sum(
        FAILS
        for package in wishes.packages
        if package in decided and isinstance(environment.fact(f"{package}.version"), Absent)
    )
    best = best_answers(verdicts)
    missed = (
        best.get((gpu.label, backend), FAILS)
        for gpu, backend in wishes.cells
        if backend in backends
    )
    return gone + sum(missed)


def best_answers(verdicts: Iterable[Verdict]) -> Mapping[tuple[str, Backend], int]:
    """Return for each GPU and backend the penalty of its better half-precision dtype."""
    found: dict[tuple[str, Backend], int] = {}
    for verdict in verdicts:
        if verdict.dtype in HALF:
            cell = (verdict.gpu, verdict.backend)
            penalty = _PENALTIES[verdict.predicted]
            found[cell] = min(penalty, found.get(cell, FAILS))
    return found


def count_lost(
    worked: Iterable[tuple[str, Backend, Dtype]],
    verdicts: Iterable[Verdict],
    backends: Container[Backend],
) -> int:
    """Return how many cells worked before and do not any more."""
    working = {(v.gpu, v.backend, v.dtype) for v in verdicts if v.predicted is Predicted.WORKS}
    return sum(cell not in working for cell in worked if cell[1] in backends)
