"""The command line: parse, call, render, exit code. Nothing else prints or exits.

Heavy modules are imported inside the commands, so that each pays only for what it uses.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from fadoctor import __version__, cli_explain, cli_rules, cli_smoke
from fadoctor import cli_options as opt
from fadoctor import cli_support as support
from fadoctor.cli_output import write
from fadoctor.cli_support import (
    EXIT_COULD_NOT_LOOK,
    EXIT_FINDINGS,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
)
from fadoctor.model.errors import FadoctorError

app = typer.Typer(
    name="fadoctor",
    help="Environment doctor for FlashAttention: will it work, if not why, and what to do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(cli_rules.app)
app.command()(cli_smoke.smoke)


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
    thorough: opt.CheckAll = False,
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
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform, thorough=thorough)  # fmt: skip
    with spinner("reading", quiet=quiet):
        printer = "fadoctor.report.json_" if format_ is opt.Format.JSON else "fadoctor.report.text"
        knowledge, environment = support.environment_of(
            request, rules, "fadoctor.diagnose", printer
        )
        support.refuse_unknown_ids(ignore, knowledge)
    from fadoctor.diagnose import conclude, foresee

    prognosis = foresee(environment, knowledge, tuple(ignore))
    run = None
    if smoke and request.is_real:
        run = support.smoke_of_check(prognosis, thorough=thorough, quiet=quiet)
    report = conclude(prognosis, run)
    report = support.redacted(report) if redact else report
    if format_ is opt.Format.JSON:
        from fadoctor.report.json_ import render as render_json

        text = render_json(report)
    else:
        from fadoctor.report.text import render as render_text

        text = render_text(report, style_of(color.value, output, quiet=quiet, verbose=verbose))
    write(text, output)
    if run is not None and run.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    _exit(support.check_code(report, fail_on, strict=strict), exit_zero=exit_zero)


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
    thorough: opt.ReadAll = False,
    output: opt.Output = None,
    redact: opt.Redact = False,
    debug: opt.Debug = False,
) -> None:
    """Print everything that was read, as JSON: what a bug report should contain."""
    from fadoctor.report.json_ import render
    from fadoctor.terminal import log_to_stderr

    log_to_stderr(debug=debug)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform, thorough=thorough)  # fmt: skip
    _, environment = support.environment_of(request, rules)
    write(render(support.redacted(environment) if redact else environment), output)


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
        bool, typer.Option("--dry-run", help="Print the plan, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Ask the installer and its index whether they agree."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Restore what was there before the last fix.")
    ] = False,
    smoke: Annotated[
        bool,
        typer.Option("--smoke/--no-smoke", help="Afterwards, run a short forward and backward."),
    ] = True,
    want: opt.Want = [],  # noqa: B006
    keep: opt.Keep = [],  # noqa: B006
    allow_build: opt.AllowBuild = False,
    installer: Annotated[
        opt.Installer, typer.Option("--installer", help="Whose commands to use.")
    ] = opt.Installer.AUTO,
    ignore: opt.Ignore = [],  # noqa: B006
    rules: opt.Rules = [],  # noqa: B006
    format_: opt.PlanOutput = opt.PlanFormat.TEXT,
    output: opt.Output = None,
    redact: opt.Redact = False,
    exit_zero: opt.ExitZero = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Plan the smallest change that ends in a working environment, proved before it is shown."""
    from fadoctor import cli_apply, cli_fix
    from fadoctor.cli_plan import Wanted
    from fadoctor.terminal import log_to_stderr, spinner, style_of

    log_to_stderr(debug=debug)
    cli_fix.refuse_unclear(dry_run=dry_run, yes=yes, undo=undo)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform)  # fmt: skip
    if undo:
        cli_apply.undo_for(request)
        return
    wanted = Wanted(tuple(want), tuple(keep), allow_build, installer.value, tuple(ignore),
                            verify)  # fmt: skip
    with spinner("reading and planning", quiet=quiet):
        planned = cli_fix.plan_for(request, rules, wanted)
    style = style_of("never", output, quiet=quiet, verbose=False)
    plan = support.redacted(planned.plan) if redact else planned.plan
    write(cli_fix.render(plan, format_, style), output)
    code = planned.exit_code
    if not dry_run and code == EXIT_FINDINGS:
        job = cli_apply.Job(request, tuple(rules), tuple(ignore), yes, smoke)
        code = cli_apply.apply_for(job, planned.plan)
    _exit(code, exit_zero=exit_zero)


app.command()(cli_explain.explain)
app.command(context_settings={"ignore_unknown_options": True})(cli_explain.run)


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
