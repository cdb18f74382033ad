"""The command ``check``: findings, verdicts, recommendation.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from fadoctor.interfaces.cli import forms, support
from fadoctor.interfaces.cli.options import formats, judging, looking, showing
from fadoctor.interfaces.cli.person import Person
from fadoctor.interfaces.cli.support import EXIT_INTERRUPTED, leave
from fadoctor.interfaces.commands import check as commands
from fadoctor.interfaces.commands.check import CheckRequest

if TYPE_CHECKING:
    from fadoctor.interfaces.commands.settings import Settings
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request


def check(
    target: looking.Target = "",
    python: looking.Python = "",
    site_packages: looking.SitePackages = "",
    facts: looking.Facts = "",
    requirements: looking.Requirements = [],  # noqa: B006
    extra: looking.Extra = [],  # noqa: B006
    group: looking.Group = [],  # noqa: B006
    resolve: looking.Resolve = False,
    config: looking.Config = [],  # noqa: B006
    config_kind: looking.ConfigKind = "",
    gpu: looking.Gpu = [],  # noqa: B006 -- typer copies defaults
    driver: looking.Driver = "",
    glibc: looking.Glibc = "",
    python_version: looking.PythonVersion = "",
    platform: looking.Platform = "",
    smoke: Annotated[
        bool | None,
        typer.Option(
            "--smoke/--no-smoke",
            help="Prove the answer with a short forward and backward pass. Default: if there "
            "is a GPU.",
            show_default=False,
        ),
    ] = None,
    thorough: looking.CheckAll = False,
    no_cache: looking.NoCache = False,
    fail_on: judging.FailOnOption = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit 3 unless there is a GPU and the answer for it is decided; 1 if "
            "attention fails on it.",
        ),
    ] = False,
    ignore: judging.Ignore = [],  # noqa: B006
    rules: judging.Rules = [],  # noqa: B006
    no_config_file: judging.NoConfigFile = False,
    format_: formats.CheckOutput = formats.CheckFormat.TEXT,
    output: showing.Outputs = [],  # noqa: B006
    output_dir: showing.OutputDir = "",
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    exit_zero: judging.ExitZero = False,
    quiet: showing.Quiet = False,
    verbose: showing.Verbose = False,
    debug: showing.CheckDebug = False,
) -> None:
    """Say whether FlashAttention works here, if not why, and what to do."""
    from fadoctor.interfaces.cli.terminal import log_to_stderr

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of_check(output, format_, output_dir)
    with forms.reporting(sinks, output_dir, redact=redact, exit_zero=exit_zero) as save:
        request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                           python_version, platform, thorough=thorough, requirements=requirements,
                           extra=extra, group=group, config=config, config_kind=config_kind,
                           contracts=True, cache=not no_cache, resolve=resolve)  # fmt: skip
        settings = support.settings_of(no_config_file=no_config_file, quiet=quiet)
        failing = support.failing_from(fail_on, settings)
        how = forms.Looks(color.value, quiet, verbose, redact, failing)
        asked = _request_of(request, tuple(rules), tuple(ignore), settings)
        asked = asked._replace(smoke=smoke, thorough=thorough)
        observer = Person(quiet=quiet, debug=debug, redact=redact)
        code = _examine(asked, sinks, how, observer, save, strict=strict)
        leave(code, exit_zero=exit_zero)


def judge_file(
    request: Request, ignore: tuple[str, ...], fail_on: judging.FailOn | None, settings: Settings
) -> int:
    """Report what is wrong with a file, and nothing else; return the exit code."""
    failing = support.failing_from(fail_on, settings)
    how = forms.Looks(showing.Colour.AUTO.value, fail_on=failing, brief=True)
    sinks = forms.sinks_of([], formats.ReportFormat.TEXT)
    return _examine(_request_of(request, (), ignore, settings), sinks, how, Person())


def _request_of(
    examine: Request, rules: tuple[Path, ...], ignore: tuple[str, ...], settings: Settings
) -> CheckRequest:
    """Return what is examined, with what a project's settings say beside it."""

    def ignored(knowledge: Knowledge) -> tuple[str, ...]:
        support.refuse_unknown_ids(list(ignore), knowledge)
        return settings.hiding(ignore, knowledge)

    return CheckRequest(settings.applied(examine), (*settings.rules, *rules), ignored)


def _examine(
    request: CheckRequest,
    sinks: tuple[forms.Sink, ...],
    how: forms.Looks,
    observer: Person,
    save: forms.Save | None = None,
    *,
    strict: bool = False,
) -> int:
    """Examine and report; return the exit code."""
    needed = ("fadoctor.judging.diagnose", forms.printer_of(sinks, "Report"))
    report, run = commands.check(request._replace(needed=needed), observer)
    code = support.check_code(report, how.fail_on or judging.FailOn.ERROR, strict=strict)
    how = msgspec.structs.replace(how, code=code)
    if save is not None:
        save(report, how)
    forms.deliver(report, sinks, how)
    if run is not None and run.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    return code
