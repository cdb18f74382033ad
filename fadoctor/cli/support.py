"""What the commands share between parsing and rendering. Imports late, as they do."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn, TypeVar

import typer

from fadoctor.cli.options import FailOn
from fadoctor.model.errors import UsageError, did_you_mean
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import msgspec

    from fadoctor.diagnose import Prognosis
    from fadoctor.examine import Request
    from fadoctor.model.environment import Environment
    from fadoctor.model.report import Report, Summary
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.smoke import SmokeRun
    from fadoctor.smoke.choice import Choice

FOLLOWING = "following what the installed packages import of each other, once for these releases"
"""What a person reads who waits for it."""

_T = TypeVar("_T", bound="msgspec.Struct")

_CHECK_CELL_S, _CHECK_DEVICE_S = 30.0, 120.0
"""Limits of the smoke run of ``check``, seconds."""

EXIT_FINDINGS, EXIT_COULD_NOT_LOOK, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 3, 4, 130


def request_of(
    target: str, python: str, site_packages: str = "", facts: str = "", gpu: Sequence[str] = (),
    driver: str = "", glibc: str = "", python_version: str = "", platform: str = "",
    *, thorough: bool = False, requirements: Sequence[Path] = (), extra: Sequence[str] = (),
    group: Sequence[str] = (), config: Sequence[str] = (), config_kind: str = "",
    contracts: bool = False, cache: bool = True,
) -> Request:  # fmt: skip
    """Return what the target options of a command say, in the order of the commands."""
    from fadoctor.examine import Request
    from fadoctor.model.overlays import Overlays

    if target and python:
        raise UsageError("TARGET and --python exclude each other: name one target")
    overlays = Overlays(tuple(gpu), driver, glibc, python_version, platform)
    named = tuple(map(str, requirements))
    return Request(
        target or python, site_packages, facts, overlays, thorough, named, tuple(config),
        extras=tuple(extra), groups=tuple(group), config_kind=config_kind,
        contracts=contracts, cache=cache,
    )  # fmt: skip


def no_request() -> Request:
    """Return the request of a command line that names no target: the active environment."""
    from fadoctor.examine import Request

    return Request()


def environment_of(
    request: Request, rules: list[Path], *needed: str, say: Callable[[str], None] = lambda _: None
) -> tuple[Knowledge, Environment]:
    """Return knowledge base and environment; load the modules that are needed next meanwhile.

    `say` is told of what takes seconds.
    """
    from importlib import import_module

    from fadoctor.examine import Examination
    from fadoctor.processes.ending import ends_by_signals

    with ends_by_signals():
        examination = Examination(request, os.environ, lambda: say(FOLLOWING))
        for name in needed:
            import_module(name)
        from fadoctor.matrix.load import load_knowledge

        knowledge = load_knowledge(tuple(rules))
        return knowledge, examination.environment(knowledge)


def foreseen(
    environment: Environment, knowledge: Knowledge, ignore: tuple[str, ...]
) -> tuple[Prognosis, Prognosis]:
    """Return what the facts say, and what fixes are planned on: of a plan, as it comes today."""
    if is_planned(environment):
        from fadoctor.preflight.judge import foresee_planned

        found = foresee_planned(environment, knowledge, ignore)
        return found.shown, found.planned
    from fadoctor.diagnose import foresee

    prognosis = foresee(environment, knowledge, ignore)
    return prognosis, prognosis


def is_planned(environment: Environment) -> bool:
    """Return whether an environment is what manifests describe, read or replayed."""
    return environment.target.kind == "manifest" or bool(environment.ranges)


def refuse_unknown_ids(ignored: list[str], knowledge: Knowledge) -> None:
    """Refuse an id that no rule has: a typing error would silently ignore nothing."""
    ids = {rule.id for rule in knowledge.rules}
    for rule_id, current in zip(ignored, knowledge.current(ignored), strict=True):
        if current not in ids:
            raise UsageError(f"--ignore: {no_such_rule(rule_id, ids)}")
        if current != rule_id:
            sys.stderr.write(f"fadoctor: --ignore: {is_retired(rule_id, current)}\n")


def is_retired(rule_id: str, current: str) -> str:
    """Return the sentence about an id that was given once."""
    return f"{rule_id} is retired: {current} speaks of it now"


def no_such_rule(rule_id: str, known: Iterable[str]) -> str:
    """Return the sentence about an id that no rule has, with those that are near."""
    otherwise = " `fadoctor rules list` names them all."
    return f"there is no rule {printable(rule_id, 60)!r}.{did_you_mean(rule_id, known, otherwise)}"


def smoke_of(prognosis: Prognosis, choice: Choice, *, quiet: bool) -> SmokeRun:
    """Run the chosen cells and end whatever they leave behind."""
    import msgspec

    from fadoctor.cli.terminal import spinner
    from fadoctor.processes.ending import ends_by_signals
    from fadoctor.processes.run import run
    from fadoctor.processes.strays import no_strays
    from fadoctor.smoke.judge import Judge
    from fadoctor.smoke.parent import run_smoke

    target, judge = prognosis.environment.target, Judge(prognosis.knowledge)
    waiting = spinner("running forward and backward", quiet=quiet)
    with ends_by_signals(), waiting, no_strays() as stuck:
        found = run_smoke(target, os.environ, run, choice, judge)
    problem = "; ".join(part for part in (found.problem, *stuck) if part)
    return msgspec.structs.replace(found, problem=problem)


def with_imports(found: SmokeRun, prognosis: Prognosis, *, quiet: bool) -> SmokeRun:
    """Return a run with the proof by import of all that is installed of the stack."""
    import msgspec

    if found.interrupted:
        return found
    from fadoctor.cli.terminal import spinner
    from fadoctor.processes.ending import ends_by_signals
    from fadoctor.processes.run import run
    from fadoctor.processes.strays import no_strays
    from fadoctor.smoke.imports import entries, run_imports
    from fadoctor.smoke.judge import Judge

    environment, knowledge = prognosis.environment, prognosis.knowledge
    wanted = entries(environment, knowledge.tables)
    waiting = spinner(f"importing {len(wanted)} packages, one by one", quiet=quiet)
    try:
        with ends_by_signals(), waiting, no_strays():
            proofs = run_imports(environment, wanted, os.environ, run, Judge(knowledge))
    except KeyboardInterrupt:
        return msgspec.structs.replace(found, interrupted=True)
    return msgspec.structs.replace(found, imports=proofs)


def smoke_of_check(prognosis: Prognosis, *, thorough: bool, quiet: bool) -> SmokeRun:
    """Run the default set; without `thorough` nothing whose failure is predicted, and not long."""
    from fadoctor.smoke.choice import Wanted, choose
    from fadoctor.verdicts.measurements import doomed

    if thorough:
        found = smoke_of(prognosis, choose(Wanted(thorough=True), prognosis.kernels), quiet=quiet)
        return with_imports(found, prognosis, quiet=quiet)
    wanted = Wanted(timeout_s=_CHECK_CELL_S, total_s=_CHECK_DEVICE_S)
    known = doomed(prognosis.verdicts)
    return smoke_of(prognosis, choose(wanted, prognosis.kernels, known), quiet=quiet)


def with_advice(report: Report, request: Request, prognosis: Prognosis) -> Report:
    """Return the report with the fixes that hold, and that `fix` agrees with."""
    if not report.findings:
        return report
    import msgspec

    from fadoctor.cli.plan import advised_findings

    findings = advised_findings(request, prognosis, report.findings)
    return msgspec.structs.replace(report, findings=findings)


def redacted(document: _T) -> _T:
    """Return a document without what identifies a person or a machine."""
    from fadoctor.redact import redact

    return redact(document, os.environ, os.uname().nodename if hasattr(os, "uname") else "")


def leave(code: int, *, exit_zero: bool) -> NoReturn:
    """End the command with a code; `exit_zero` forgives findings and blind spots."""
    forgiven = exit_zero and code in (EXIT_FINDINGS, EXIT_COULD_NOT_LOOK)
    raise typer.Exit(0 if forgiven else code)


def check_code(report: Report, fail_on: FailOn, *, strict: bool) -> int:
    """Return the exit code; where several apply: 4, 1, 3 (2 never comes as far as a report)."""
    from fadoctor.verdicts.measurements import has_failure

    if report.rule_errors:
        return EXIT_INTERNAL
    failed = has_failure(report.verdicts) and fail_on is not FailOn.NEVER
    if failed or severity_code(report.summary, fail_on):
        return EXIT_FINDINGS
    return EXIT_COULD_NOT_LOOK if strict and (report.summary.unknown or report.not_looked) else 0


def severity_code(summary: Summary, fail_on: FailOn) -> int:
    """Return the exit code that findings of these severities make."""
    counted = {"error": summary.error, "warning": summary.warning, "note": summary.note}
    loud = any(number and is_loud(name, fail_on) for name, number in counted.items())
    return EXIT_FINDINGS if loud else 0


def is_loud(severity: str, fail_on: FailOn) -> bool:
    """Return whether a finding of this severity makes the exit code 1."""
    order = list(FailOn)
    is_asked = fail_on is not FailOn.NEVER
    return is_asked and order.index(FailOn(severity)) <= order.index(fail_on)
