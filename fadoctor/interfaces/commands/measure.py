"""Run cells in the target and prove its imports. Imports late, as the commands do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from fadoctor.interfaces.commands.observer import SILENT, unheard

if TYPE_CHECKING:
    from fadoctor.interfaces.commands.observer import Observer, Say
    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.environment import Environment
    from fadoctor.model.smoke import SmokeRun
    from fadoctor.proof.smoke.choice import CellChoice

_CHECK_CELL_S, _CHECK_DEVICE_S = 30.0, 120.0
"""Limits of the smoke run of ``check``, seconds."""


def may_have_gpu(environment: Environment) -> bool:
    """Return whether torch may compute on a GPU here: one is visible, or cannot be counted.

    A run without one proves torch's attention on a CPU, which nobody has asked for. What may not
    be run says so itself.
    """
    from fadoctor.model.fact import Known, fact_text

    if not environment.target.may_run:
        return True
    counts = (environment.fact(name) for name in ("gpu.count", "gpu.visible_count"))
    if any(isinstance(count, Known) and count.value == 0 for count in counts):
        return False
    return fact_text(environment.fact("torch.build"), "") != "cpu"


def choice_of_check(prognosis: Prognosis, *, thorough: bool) -> CellChoice:
    """Return the default set; without `thorough` nothing whose failure is predicted, not long."""
    from fadoctor.judging.verdicts.measurements import doomed
    from fadoctor.proof.smoke.choice import CellsRequest, choose

    if thorough:
        return choose(CellsRequest(thorough=True), prognosis.kernels)
    wanted = CellsRequest(timeout_s=_CHECK_CELL_S, total_s=_CHECK_DEVICE_S)
    return choose(wanted, prognosis.kernels, doomed(prognosis.verdicts))


def measured(
    prognosis: Prognosis, choice: CellChoice, observer: Observer = SILENT, *, imports: bool = False
) -> SmokeRun:
    """Run the chosen cells; with `imports`, also prove what is installed of the stack by import."""
    with observer.ending(), observer.doing("running forward and backward") as say:
        found = _measure(prognosis, choice, observer, None if say is unheard else say)
    if imports and not found.interrupted:
        with observer.ending():
            found = _prove_imports(found, prognosis, observer)
    observer.measured(found)
    return found


def _measure(
    prognosis: Prognosis, choice: CellChoice, observer: Observer, tell: Say | None
) -> SmokeRun:
    """Run the chosen cells; `tell` is told what goes on, where somebody waits."""
    from fadoctor.processes.run import run
    from fadoctor.proof.smoke.judge import CellJudge
    from fadoctor.proof.smoke.parent import run_smoke

    target, judge = prognosis.environment.target, CellJudge(prognosis.knowledge)
    with observer.guard() as stuck:
        found = run_smoke(target, os.environ, run, choice, judge, tell=tell)
    problem = "; ".join(part for part in (found.problem, *stuck) if part)
    return msgspec.structs.replace(found, problem=problem)


def _prove_imports(found: SmokeRun, prognosis: Prognosis, observer: Observer) -> SmokeRun:
    """Return a run with the proof by import of all that is installed of the stack."""
    from fadoctor.processes.run import run
    from fadoctor.proof.smoke.imports import entries, run_imports
    from fadoctor.proof.smoke.judge import CellJudge
    from fadoctor.report.words import counted

    environment, knowledge = prognosis.environment, prognosis.knowledge
    wanted = entries(environment, knowledge.tables)
    what = f"importing {counted(len(wanted), 'package')}, one by one"
    try:
        with observer.doing(what) as tell, observer.guard():
            proofs = run_imports(
                environment, wanted, os.environ, run, CellJudge(knowledge), tell=tell
            )
    except KeyboardInterrupt:
        return msgspec.structs.replace(found, interrupted=True)
    return msgspec.structs.replace(found, imports=proofs)
