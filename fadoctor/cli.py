"""The command line: parse, call, render, exit code. Nothing else prints or exits.

Heavy modules are imported inside the commands, so that each pays only for what it uses.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from fadoctor import __version__
from fadoctor import cli_options as opt
from fadoctor.model.errors import FadoctorError, UsageError

if TYPE_CHECKING:  # names of the helpers below; typer evaluates only those of the commands
    import msgspec

    from fadoctor.examine import Request
    from fadoctor.model.environment import Environment, Target
    from fadoctor.model.report import Report
    from fadoctor.model.rule import Knowledge
    from fadoctor.smoke.cells import SmokeRun

_T = TypeVar("_T", bound="msgspec.Struct")

app = typer.Typer(
    name="fadoctor",
    help="Environment doctor for FlashAttention: will it work, if not why, and what to do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

EXIT_FINDINGS, EXIT_COULD_NOT_LOOK, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 3, 4, 130


def _version(value: bool) -> None:  # noqa: FBT001 -- typer calls it so
    if value:
        print(f"fadoctor {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@app.command()
def check(
    target: opt.Target = "",
    python: opt.Python = "",
    site_packages: opt.SitePackages = "",
    facts: opt.Facts = "",
    gpu: opt.Gpu = [],  # noqa: B006 -- typer copies defaults
    driver: opt.Driver = "",
    glibc: opt.Glibc = "",
    python_version: opt.PythonVersion = "",
    platform: opt.Platform = "",
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke/--no-smoke", help="Prove the answer with a short forward and backward."
        ),
    ] = True,
    fail_on: Annotated[
        opt.FailOn, typer.Option("--fail-on", help="Least severity that makes the exit code 1.")
    ] = opt.FailOn.ERROR,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 3 where something stayed undecided.")
    ] = False,
    ignore: opt.Ignore = [],  # noqa: B006
    rules: opt.Rules = [],  # noqa: B006
    format_: opt.OutputFormat = opt.Format.TEXT,
    output: opt.Output = None,
    redact: opt.Redact = False,
    color: opt.ColourOption = opt.Colour.AUTO,
    exit_zero: opt.ExitZero = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Say whether FlashAttention works here, if not why, and what to do."""
    from fadoctor.terminal import log_to_stderr, spinner, style_of

    log_to_stderr(debug=debug)
    request = _request(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform)  # fmt: skip
    with spinner("reading", quiet=quiet):
        printer = "fadoctor.report.json_" if format_ is opt.Format.JSON else "fadoctor.report.text"
        knowledge, environment = _environment(request, rules, "fadoctor.diagnose", printer)
        _known_ids(ignore, knowledge)
    from fadoctor.diagnose import diagnose

    smoke_run = _smoke(environment.target, quiet=quiet) if smoke and request.is_real else None
    report = diagnose(environment, knowledge, smoke_run, tuple(ignore))
    report = _redacted(report) if redact else report
    if format_ is opt.Format.JSON:
        from fadoctor.report.json_ import render as render_json

        text = render_json(report)
    else:
        from fadoctor.report.text import render as render_text

        text = render_text(report, style_of(color.value, output, quiet=quiet, verbose=verbose))
    _write(text, output)
    _exit(_check_code(report, fail_on, strict=strict), exit_zero=exit_zero)


@app.command()
def facts(
    target: opt.Target = "",
    python: opt.Python = "",
    site_packages: opt.SitePackages = "",
    facts: opt.Facts = "",
    gpu: opt.Gpu = [],  # noqa: B006
    driver: opt.Driver = "",
    glibc: opt.Glibc = "",
    python_version: opt.PythonVersion = "",
    platform: opt.Platform = "",
    rules: opt.Rules = [],  # noqa: B006
    output: opt.Output = None,
    redact: opt.Redact = False,
    debug: opt.Debug = False,
) -> None:
    """Print everything that was read, as JSON: what a bug report should contain."""
    from fadoctor.report.json_ import render
    from fadoctor.terminal import log_to_stderr

    log_to_stderr(debug=debug)
    request = _request(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform)  # fmt: skip
    _, environment = _environment(request, rules)
    _write(render(_redacted(environment) if redact else environment), output)


@app.command()
def fix(
    target: opt.Target = "",
    python: opt.Python = "",
    site_packages: opt.SitePackages = "",
    facts: opt.Facts = "",
    gpu: opt.Gpu = [],  # noqa: B006
    driver: opt.Driver = "",
    glibc: opt.Glibc = "",
    python_version: opt.PythonVersion = "",
    platform: opt.Platform = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what to do, and change nothing.")
    ] = False,
    installer: Annotated[
        opt.Installer, typer.Option("--installer", help="Whose commands to print.")
    ] = opt.Installer.AUTO,
    ignore: opt.Ignore = [],  # noqa: B006
    rules: opt.Rules = [],  # noqa: B006
    format_: opt.OutputFormat = opt.Format.TEXT,
    output: opt.Output = None,
    redact: opt.Redact = False,
    exit_zero: opt.ExitZero = False,
    debug: opt.Debug = False,
) -> None:
    """Print the fixes of all findings as one ordered list of commands and settings."""
    from fadoctor.diagnose import diagnose
    from fadoctor.plan.listing import choose_installer, list_fixes
    from fadoctor.report import json_, plan_text
    from fadoctor.terminal import log_to_stderr

    log_to_stderr(debug=debug)
    if not dry_run:
        raise UsageError("this version only prints fixes: say `fadoctor fix --dry-run`")
    request = _request(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform)  # fmt: skip
    knowledge, environment = _environment(request, rules)
    _known_ids(ignore, knowledge)
    report = diagnose(environment, knowledge, None, tuple(ignore))
    plan = list_fixes(report, choose_installer(installer.value, environment))
    plan = _redacted(plan) if redact else plan
    as_json = format_ is opt.Format.JSON
    _write(json_.render(plan) if as_json else plan_text.render(plan), output)
    code = EXIT_INTERNAL if report.rule_errors else EXIT_FINDINGS if plan.steps else 0
    _exit(code, exit_zero=exit_zero)


def _request(
    target: str, python: str, site_packages: str, facts: str, gpu: list[str], driver: str,
    glibc: str, python_version: str, platform: str,
) -> Request:  # fmt: skip
    from fadoctor.examine import Request
    from fadoctor.model.overlays import Overlays

    if target and python:
        raise UsageError("TARGET and --python exclude each other: name one target")
    overlays = Overlays(tuple(gpu), driver, glibc, python_version, platform)
    return Request(target or python, site_packages, facts, overlays)


def _environment(
    request: Request, rules: list[Path], *needed: str
) -> tuple[Knowledge, Environment]:
    """Return knowledge base and environment; load the modules that are needed next meanwhile."""
    from importlib import import_module

    from fadoctor.examine import Examination

    examination = Examination(request, os.environ)
    for name in needed:
        import_module(name)
    from fadoctor.matrix.load import load_knowledge

    knowledge = load_knowledge(tuple(rules))
    return knowledge, examination.environment(knowledge)


def _known_ids(ignored: list[str], knowledge: Knowledge) -> None:
    """Refuse an id that no rule has: a typing error would silently ignore nothing."""
    ids = {rule.id for rule in knowledge.rules}
    for rule_id in ignored:
        if rule_id not in ids:
            raise UsageError(f"--ignore {rule_id[:60]}: there is no rule of that id")


def _smoke(target: Target, *, quiet: bool) -> SmokeRun:
    import msgspec

    from fadoctor.probes.run import run
    from fadoctor.probes.strays import no_strays
    from fadoctor.smoke.parent import run_smoke
    from fadoctor.terminal import spinner

    with spinner("running a short forward and backward", quiet=quiet), no_strays() as stuck:
        found = run_smoke(target, os.environ, run)
    problem = "; ".join(part for part in (found.problem, *stuck) if part)
    return msgspec.structs.replace(found, problem=problem)


def _redacted(document: _T) -> _T:
    from fadoctor.redact import redact

    return redact(document, os.environ, os.uname().nodename if hasattr(os, "uname") else "")


def _check_code(report: Report, fail_on: opt.FailOn, *, strict: bool) -> int:
    """Return the exit code; where several apply: 4, 1, 3 (2 never comes as far as a report)."""
    from fadoctor.measurements import has_failure

    if report.rule_errors:
        return EXIT_INTERNAL
    order = list(opt.FailOn)
    counted = {"error": report.summary.error, "warning": report.summary.warning,
               "note": report.summary.note}  # fmt: skip
    loud = order[: order.index(fail_on) + 1] if fail_on is not opt.FailOn.NEVER else []
    failed = has_failure(report.verdicts) and fail_on is not opt.FailOn.NEVER
    if failed or any(counted[severity.value] for severity in loud):
        return EXIT_FINDINGS
    return EXIT_COULD_NOT_LOOK if strict and report.unknown else 0


def _write(text: str, output: Path | None) -> None:
    if output is None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has gone (`| head`): nothing is left to say; the exit code still counts.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from error


def _exit(code: int, *, exit_zero: bool) -> NoReturn:
    forgiven = exit_zero and code in (EXIT_FINDINGS, EXIT_COULD_NOT_LOOK)
    raise typer.Exit(0 if forgiven else code)


def main() -> None:
    """Run the command line; every error becomes one line on standard error and its exit code."""
    debug = "--debug" in sys.argv
    try:
        code = app(standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # typer's word for Ctrl-C
            code = _interrupted()
    except FadoctorError as error:
        if debug:
            raise
        sys.stderr.write(f"fadoctor: {error}\n")
        code = error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = _interrupted()
    except Exception as error:  # isolation point: the user sees a line, not a stack
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # the parser's own errors
            error.show()
            sys.exit(error.exit_code)
        if debug:
            raise
        name = type(error).__name__
        sys.stderr.write(f"fadoctor: internal error: {name}: {error} (--debug shows the stack)\n")
        code = EXIT_INTERNAL
    sys.exit(code)


def _interrupted() -> int:
    """Leave no process behind; return what shells return for Ctrl-C."""
    from fadoctor.probes.strays import end_children

    end_children()
    sys.stderr.write("fadoctor: interrupted\n")
    return EXIT_INTERRUPTED
