"""What `fix` does once a plan is there: ask, carry out, check, offer the way back; and undo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.cli.support import EXIT_FINDINGS, environment_of, smoke_of_check
from fadoctor.examine import Request
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.apply.carry_out import Undone, Workshop
    from fadoctor.apply.store import Store
    from fadoctor.model.environment import Environment, Target
    from fadoctor.model.plan import Plan
    from fadoctor.model.report import Report
    from fadoctor.processes.run import Command, Result

    Run = Callable[[Command, Callable[[int], None]], Result]

PROJECT_TOOLS = ("uv-project", "poetry", "pixi", "pdm")


class Job(msgspec.Struct, frozen=True):
    """What the options say about carrying out."""

    request: Request
    rules: tuple[Path, ...]
    ignore: tuple[str, ...]
    yes: bool
    smoke: bool


def apply_for(job: Job, plan: Plan) -> int:
    """Carry a plan out, after asking, and return the exit code; on failure offer the way back."""
    from fadoctor.apply.carry_out import carry_out, refuse_interrupted
    from fadoctor.model.errors import ApplyError
    from fadoctor.model.plan import Answer
    from fadoctor.processes.run import run

    refuse_unchangeable(job.request, plan)
    verification = plan.verification
    if verification is not None and verification.answer is Answer.REFUSED:
        raise ApplyError(f"{verification.by} refuses this plan: nothing was changed")
    if not any(action.kind.is_run for action in plan.actions):
        return EXIT_FINDINGS
    if not job.yes and not _agreed("Do this?", otherwise=False):
        _say("nothing was changed")
        return EXIT_FINDINGS
    workshop = _workshop(job, run)
    store = _store(plan.target)
    with store.locked():
        refuse_interrupted(store)
        try:
            environment = carry_out(plan, store, workshop)
            report = _report_after(environment, job)
            refuse_unrepaired(plan, report)
        except (ApplyError, KeyboardInterrupt) as error:
            words = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            _say(words)
            _way_back(store, yes=job.yes)
            raise ApplyError(f"the plan was not carried out: {words}") from error
    _say("done; `fadoctor fix --undo` takes it back")
    left = plan.proof.errors or plan.proof.missed or plan.proof.by_setting
    return EXIT_FINDINGS if left else 0


def undo_for(request: Request) -> None:
    """Take the last change of an environment back; ApplyError where that cannot be."""
    from fadoctor.apply.carry_out import undo
    from fadoctor.model.errors import UsageError

    store = _named_store(request.python) or _store(_target(request))
    if not store.journal.is_file():
        raise UsageError(f"there is nothing to undo in {store.prefix}")
    with store.locked():
        _report(undo(store), store)


def refuse_unchangeable(request: Request, plan: Plan) -> None:
    """Refuse what is not an environment that may be changed; UsageError says what to do."""
    from fadoctor.model.errors import UsageError

    target = plan.target
    reasons = {
        "this is not a real environment: say --dry-run": not request.is_real,
        "this environment was only found: name it with --python": not target.may_run,
        "packages without an interpreter cannot be changed: say --dry-run": not target.python,
        f"{target.label} is no virtual or conda environment: run the commands yourself, or make "
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


def _is_own_folder(target: Target) -> bool:
    """Return whether the folder holds an environment and nothing else: it can be restored."""
    prefix = Path(target.roots.get("prefix", "/"))
    return (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()


def _workshop(job: Job, run: Run) -> Workshop:
    from fadoctor.apply.carry_out import Workshop

    return Workshop(run, lambda: environment_of(job.request, list(job.rules))[1], _say)


def _store(target: Target) -> Store:
    from fadoctor.apply.store import Store

    return Store(Path(target.roots["prefix"]))


def _named_store(named: str) -> Store | None:
    """Return the store of the folder or interpreter that was named, where it has a journal.

    Whatever was half done there, its interpreter need not run for an undo.
    """
    from fadoctor.apply.store import Store

    path = Path(named).absolute()
    for prefix in (path, *path.parents[1:2]) if named else ():
        store = Store(prefix)
        if store.journal.is_file():
            return store
    return None


def _target(request: Request) -> Target:
    """Return the target to undo in: one that may be run, as its journal says what is deleted."""
    from fadoctor.model.errors import UsageError

    if not request.is_real:
        raise UsageError("--undo is about a real environment: name it with --python")
    target = environment_of(request, [])[1].target
    if not target.may_run:
        raise UsageError("this environment was only found: name it with --python")
    return target


def _report_after(environment: Environment, job: Job) -> Report:
    from fadoctor.diagnose import conclude, foresee
    from fadoctor.matrix.load import load_knowledge

    prognosis = foresee(environment, load_knowledge(job.rules), job.ignore)
    run = smoke_of_check(prognosis, thorough=False, quiet=True) if job.smoke else None
    if run is not None and run.interrupted:
        raise KeyboardInterrupt
    return conclude(prognosis, run)


def refuse_unrepaired(plan: Plan, report: Report) -> None:
    """Refuse a result with errors that the plan did not foresee: the facts were wrong then."""
    from fadoctor.model.errors import ApplyError
    from fadoctor.model.finding import Severity
    from fadoctor.verdicts.measurements import has_failure

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


def _way_back(store: Store, *, yes: bool) -> None:
    from fadoctor.apply.carry_out import undo

    if yes or _agreed("Take everything back?", otherwise=True):
        _report(undo(store), store)
    else:
        _say("left as it is; `fadoctor fix --undo` takes it back")


def _report(undone: Undone, store: Store) -> None:
    if not undone.restored:
        _say("nothing had been changed")
        return
    _say(f"{store.prefix} is as it was before")
    if undone.spoiled:
        names = ", ".join(undone.spoiled[:5])
        _say(f"but {len(undone.spoiled)} files were edited in place and are not: {names}")


def _agreed(question: str, *, otherwise: bool) -> bool:
    """Ask on the terminal; where there is none, the answer is no, or what was typed to be it."""
    if not sys.stdin.isatty():
        return otherwise
    _say(f"{question} [{'Y/n' if otherwise else 'y/N'}]")
    answer = sys.stdin.readline().strip().lower()
    return otherwise if not answer else answer in ("y", "yes")


def _say(text: str) -> None:
    sys.stderr.write(f"fadoctor: {printable(text, 2000)}\n")
    sys.stderr.flush()
