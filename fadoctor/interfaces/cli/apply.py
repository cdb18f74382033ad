"""What `fix` does once a plan is there: ask, carry out, check, offer the way back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.interfaces.cli.support import EXIT_FINDINGS, environment_of
from fadoctor.interfaces.cli.undo import agreed, say, store_of, way_back
from fadoctor.interfaces.commands.environment_name import how_to_name
from fadoctor.model.fact import printable
from fadoctor.sources.examine.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment, Target
    from fadoctor.model.plan import Plan
    from fadoctor.model.report import Report
    from fadoctor.processes.command import Command, Result
    from fadoctor.repair.apply.carry_out import Workshop
    from fadoctor.repair.apply.store import Store

    Run = Callable[[Command, Callable[[int], None]], Result]

PROJECT_TOOLS = ("poetry", "pixi", "pdm")
"""Tools whose commands are printed only."""


class ApplyRequest(msgspec.Struct, frozen=True):
    """What the options say about carrying out."""

    request: Request
    rules: tuple[Path, ...]
    ignore: tuple[str, ...]
    yes: bool
    smoke: bool


def apply_for(job: ApplyRequest, plan: Plan) -> int:
    """Carry a plan out, after asking, and return the exit code; on failure offer the way back."""
    from fadoctor.model.errors import ApplyError
    from fadoctor.processes.run import run
    from fadoctor.repair.apply.carry_out import carry_out, refuse_interrupted
    from fadoctor.repair.apply.store import interrupted_later

    refuse_unchangeable(job.request, plan)
    refuse_refused(plan)
    if not any(action.kind.is_run for action in plan.actions):
        return EXIT_FINDINGS
    store = store_of(plan.target)
    # A change that still runs is not one that was interrupted. Over in a moment: Ctrl-C can wait.
    with interrupted_later(), store.locked():
        refuse_interrupted(store)
    refuse_unready_for(plan, store)
    if not job.yes and not agreed("Do this?", otherwise=False):
        say("nothing was changed")
        return EXIT_FINDINGS
    workshop = _workshop(job, run)
    with store.locked():
        refuse_interrupted(store)
        try:
            environment = carry_out(plan, store, workshop)
            report = _report_after(environment, job)
            refuse_unrepaired(plan, report)
        except KeyboardInterrupt:
            way_back(store, yes=job.yes)
            raise
        except ApplyError as error:
            say(str(error))
            way_back(store, yes=job.yes)
            raise ApplyError("the plan was not carried out") from error
    say("done; `fadoctor fix --undo` undoes it")
    left = plan.proof.errors or plan.proof.missed or plan.proof.by_setting
    return EXIT_FINDINGS if left else 0


def refuse_refused(plan: Plan) -> None:
    """Refuse a plan that the installer was asked about and does not agree to."""
    from fadoctor.model.errors import ApplyError
    from fadoctor.model.plan import Answer

    verification = plan.verification
    if verification is None:
        return
    if verification.answer is Answer.REFUSED:
        raise ApplyError(f"{verification.by} refuses this plan: nothing was changed")
    if verification.answer is Answer.DIFFERS:
        raise ApplyError(f"{verification.by} would not carry out the plan: nothing was changed")


def refuse_unready_for(plan: Plan, store: Store) -> None:
    """Refuse a plan whose installer is missing, or would do something else."""
    from fadoctor.processes.run import run
    from fadoctor.repair.apply.installer_check import refuse_unready

    refuse_unready(plan, store.prefix, os.environ, run)


def refuse_unchangeable(request: Request, plan: Plan) -> None:
    """Refuse what is not an environment that may be changed; UsageError says what to do."""
    from fadoctor.model.errors import UsageError

    target = plan.target
    reasons = {
        "saved or assumed facts cannot be changed: --dry-run shows the plan": not request.is_real,
        how_to_name(target): not target.may_run,
        "packages without an interpreter cannot be changed: --dry-run shows the plan": (
            not target.python
        ),
        f"{printable(target.label, 400)}: no journal can record a name that is not UTF-8: nothing "
        "was changed. Rename the folder, or run the commands yourself": not _is_text(target),
        f"{target.label} is not a virtual or conda environment: run the commands yourself, or make "
        "one": not _is_own_folder(target),
        f"{target.label} belongs to a project of {plan.installer}: run the commands there "
        "yourself, so that its lock file stays right": plan.installer in PROJECT_TOOLS,
        f"{target.label} must not be changed: run the commands yourself, in a new environment": any(
            action.kind.value == "venv" for action in plan.actions
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(reason)


def _is_text(target: Target) -> bool:
    """Return whether a journal can hold the target's name and that of its interpreter."""
    try:
        f"{target.roots.get('prefix', '')}{target.python}".encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_own_folder(target: Target) -> bool:
    """Return whether the folder holds an environment and nothing else: it can be restored."""
    prefix = Path(target.roots.get("prefix", "/"))
    return (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()


def _workshop(job: ApplyRequest, run: Run) -> Workshop:
    from fadoctor.repair.apply.carry_out import Workshop

    return Workshop(run, lambda: environment_of(job.request, list(job.rules))[1], say)


def _report_after(environment: Environment, job: ApplyRequest) -> Report:
    from fadoctor.interfaces.cli.person import Person
    from fadoctor.interfaces.commands.check import proof_of
    from fadoctor.judging.diagnose import conclude, foresee
    from fadoctor.knowledge.matrix.load import load_knowledge

    prognosis = foresee(environment, load_knowledge(job.rules), job.ignore)
    run = proof_of(prognosis, Person(quiet=True)) if job.smoke else None
    if run is not None and run.interrupted:
        raise KeyboardInterrupt
    return conclude(prognosis, run)


def refuse_unrepaired(plan: Plan, report: Report) -> None:
    """Refuse a result with errors that the plan did not foresee: the facts were wrong then."""
    from fadoctor.judging.verdicts.measurements import has_failure
    from fadoctor.model.errors import ApplyError
    from fadoctor.model.finding import Severity

    left_to_do = [action for action in plan.actions if not action.kind.is_run]
    foreseen = {
        *plan.proof.errors,
        *plan.proof.by_setting,
        *(rule_id for action in left_to_do for rule_id in action.findings),
    }
    found = {f.rule_id for f in report.findings if f.severity is Severity.ERROR} - foreseen
    if found:
        raise ApplyError(f"afterwards there are errors: {', '.join(sorted(found))}")
    if has_failure(report.verdicts):
        raise ApplyError("afterwards a smoke test fails: fadoctor check shows which")
