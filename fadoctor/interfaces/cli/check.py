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
from fadoctor.interfaces.cli.support import EXIT_INTERRUPTED, leave

if TYPE_CHECKING:
    from fadoctor.interfaces.commands.settings import Settings
    from fadoctor.sources.examine.request import Request


def check(
    target: looking.Target = "",
    python: looking.Python = "",
    site_packages: looking.SitePackages = "",
    facts: looking.Facts = "",
    requirements: looking.Requirements = [],  # noqa: B006
    extra: looking.Extra = [],  # noqa: B006
    group: looking.Group = [],  # noqa: B006
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
            help="Prove the answer with a short forward and backward pass. Default: where there "
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
            help="Exit 3 unless there is a GPU and the answer for it is decided; 1 where "
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
                           contracts=True, cache=not no_cache)  # fmt: skip
        settings = support.settings_of(no_config_file=no_config_file, quiet=quiet)
        failing = support.failing_from(fail_on, settings)
        how = forms.How(color.value, quiet, verbose, redact, failing)
        asked = Asked(request, tuple(rules), tuple(ignore), smoke, thorough, strict, failing,
                      debug=debug)  # fmt: skip
        asked = asked.by(settings)
        leave(_examine(asked, sinks, how, save), exit_zero=exit_zero)


class Asked(msgspec.Struct, frozen=True):
    """What is examined, by what, and how far."""

    request: Request
    rules: tuple[Path, ...] = ()
    ignore: tuple[str, ...] = ()
    smoke: bool | None = None
    """None: where there is a GPU to prove it on."""
    thorough: bool = False
    strict: bool = False
    fail_on: judging.FailOn = judging.FailOn.ERROR
    settings: Settings | None = None
    debug: bool = False
    """Whether standard error says why each rule came out as it did."""

    def by(self, settings: Settings) -> Asked:
        """Return the same with what a project's settings say beside it."""
        request = settings.applied(self.request)
        rules = (*settings.rules, *self.rules)
        return msgspec.structs.replace(self, request=request, rules=rules, settings=settings)


def judge_file(
    request: Request, ignore: tuple[str, ...], fail_on: judging.FailOn | None, settings: Settings
) -> int:
    """Report what is wrong with a file, and nothing else; return the exit code."""
    failing = support.failing_from(fail_on, settings)
    how = forms.How(showing.Colour.AUTO.value, fail_on=failing, brief=True)
    sinks = forms.sinks_of([], formats.ReportFormat.TEXT)
    return _examine(
        Asked(request, ignore=ignore, smoke=False, fail_on=failing).by(settings), sinks, how
    )


def _examine(
    asked: Asked, sinks: tuple[forms.Sink, ...], how: forms.How, save: forms.Save | None = None
) -> int:
    """Read, judge, run and report; return the exit code."""
    from fadoctor.interfaces.cli.terminal import spinner

    request, ignore = asked.request, asked.ignore
    with spinner("reading the environment", quiet=how.quiet) as say:
        needed = ("fadoctor.judging.diagnose", forms.printer_of(sinks, "Report"))
        knowledge, environment = support.environment_of(
            request, list(asked.rules), *needed, say=say
        )
        support.refuse_unknown_ids(list(ignore), knowledge)
        if asked.settings is not None:
            ignore = asked.settings.hiding(ignore, knowledge)
        say("judging")
        from fadoctor.interfaces.commands.examine import foreseen
        from fadoctor.interfaces.commands.plan import with_advice
        from fadoctor.judging.diagnose import conclude

        prognosis, planned = foreseen(environment, knowledge, ignore)
    if asked.debug:
        support.tell_reasons(prognosis, redact=how.redact)
    run = None
    may_run = request.is_real and not environment.overlays
    if may_run and support.is_proved(prognosis, asked.smoke, thorough=asked.thorough):
        run = support.smoke_of_check(prognosis, thorough=asked.thorough, quiet=how.quiet)
    with spinner("looking for a repair", quiet=how.quiet):
        report = with_advice(conclude(prognosis, run), request, planned)
    code = support.check_code(report, asked.fail_on, strict=asked.strict)
    how = msgspec.structs.replace(how, code=code)
    if save is not None:
        save(report, how)
    forms.deliver(report, sinks, how)
    if run is not None and run.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    return code
