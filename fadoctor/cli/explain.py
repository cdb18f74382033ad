"""The command ``explain``: from a log to the root cause and the fix.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fadoctor.cli import forms, support
from fadoctor.cli import options as opt
from fadoctor.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from fadoctor.examine import Request
    from fadoctor.explain.explain import Reading
    from fadoctor.model.environment import Environment
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge

LogFile = Annotated[
    str,
    typer.Argument(metavar="[FILE|-]", help="A log, or - for standard input.", show_default=False),
]


def explain(
    log: LogFile = "-",
    target: opt.Target = "",
    python: opt.Python = "",
    site_packages: opt.SitePackages = "",
    facts: opt.Facts = "",
    gpu: opt.Gpu = [],  # noqa: B006 -- typer copies defaults
    driver: opt.Driver = "",
    glibc: opt.Glibc = "",
    python_version: opt.PythonVersion = "",
    platform: opt.Platform = "",
    fail_on: Annotated[
        opt.FailOn, typer.Option("--fail-on", help="Least severity that makes the exit code 1.")
    ] = opt.FailOn.ERROR,
    ignore: opt.Ignore = [],  # noqa: B006
    rules: opt.Rules = [],  # noqa: B006
    format_: opt.ReportOutput = opt.ReportFormat.TEXT,
    output: opt.Outputs = [],  # noqa: B006
    redact: opt.Redact = False,
    color: opt.ColourOption = opt.Colour.AUTO,
    exit_zero: opt.ExitZero = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Say what a log, a traceback or one pasted line comes from, why, and what to do."""
    from fadoctor.cli.terminal import log_to_stderr, spinner
    from fadoctor.explain.explain import explain as explain_reading
    from fadoctor.matrix.load import load_knowledge

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of(output, format_)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform)  # fmt: skip
    if log == "-" and facts == "-":
        raise UsageError("the log and --facts cannot both be standard input")
    knowledge = load_knowledge(tuple(rules))
    support.refuse_unknown_ids(ignore, knowledge)
    with spinner("reading the log", quiet=quiet or log == "-") as say:
        reading = _read(log, knowledge)
        environment = None
        if request.names_a_target or lies_in_active(reading):
            say("reading the environment")
            _, environment = support.environment_of(request, rules)
        say("looking for causes")
        report = explain_reading(reading, knowledge, environment, tuple(ignore))
        if environment is not None:
            say("planning the repair")
            report = _with_plan(report, request, knowledge, environment, tuple(ignore))
    forms.deliver(report, sinks, forms.How(color.value, quiet, verbose, redact, fail_on))
    code = support.severity_code(report.summary, fail_on)
    if report.rule_errors:
        raise typer.Exit(support.EXIT_INTERNAL)
    raise typer.Exit(0 if exit_zero else code)


def _with_plan(
    report: Explanation,
    request: Request,
    knowledge: Knowledge,
    environment: Environment,
    ignored: tuple[str, ...],
) -> Explanation:
    """Return the report with what repairs the environment, where that confirms a cause."""
    import msgspec

    from fadoctor.cli.plan import Wanted, plan_of
    from fadoctor.model.explanation import Agreement

    if not any(check.agreement is Agreement.CONFIRMED for check in report.checks):
        return report
    plan = plan_of(request, knowledge, environment, Wanted(ignore=ignored))
    report = _advised(report, request, knowledge, environment, plan)
    does = any(action.is_step for action in plan.actions)
    return msgspec.structs.replace(report, plan=plan) if does else report


def _advised(
    report: Explanation,
    request: Request,
    knowledge: Knowledge,
    environment: Environment,
    plan: Plan,
) -> Explanation:
    """Return the report with the fixes that hold for what the environment confirms."""
    import msgspec

    from fadoctor.cli.plan import advised_findings
    from fadoctor.diagnose import foresee
    from fadoctor.model.explanation import Agreement

    before = foresee(environment, knowledge)
    shown = {
        finding.rule_id: finding.fixes
        for finding in advised_findings(request, before, before.assessment.findings, plan)
    }
    confirmed = {
        check.rule_id: shown.get(check.detail.partition(":")[0])
        for check in report.checks
        if check.agreement is Agreement.CONFIRMED
    }
    findings = tuple(
        msgspec.structs.replace(finding, fixes=confirmed.get(finding.rule_id) or finding.fixes)
        for finding in report.findings
    )
    return msgspec.structs.replace(report, findings=findings)


def _read(log: str, knowledge: Knowledge) -> Reading:
    from fadoctor.explain.explain import read_log
    from fadoctor.explain.opening import open_log

    if log == "-":
        if sys.stdin.isatty():
            sys.stderr.write("fadoctor: paste the log, then end it with Ctrl-D\n")
        name = "standard input"
        reading = read_log(open_log(sys.stdin.buffer, name), name, knowledge)
    else:
        name = log
        try:
            with Path(log).open("rb") as stream:
                reading = read_log(open_log(stream, log), log, knowledge)
        except OSError as error:
            raise InputError(log, error.strerror or str(error)) from error
    if reading.is_empty:
        raise InputError(name, "there is no text in it")
    return reading


def lies_in_active(reading: Reading) -> bool:
    """Return whether a path of the log lies in the environment that is active."""
    active = [os.environ.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    return any(reading.mentions(folder) for folder in active if len(folder) > 1)
