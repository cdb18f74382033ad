"""The command ``check``: findings, verdicts, recommendation.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

from typing import Annotated

import typer

from fadoctor.cli import forms, support
from fadoctor.cli import options as opt
from fadoctor.cli.support import EXIT_INTERRUPTED, leave


def check(
    target: opt.Target = "",
    python: opt.Python = "",
    site_packages: opt.SitePackages = "",
    facts: opt.Facts = "",
    requirements: opt.Requirements = [],  # noqa: B006
    extra: opt.Extra = [],  # noqa: B006
    group: opt.Group = [],  # noqa: B006
    config: opt.Config = [],  # noqa: B006
    config_kind: opt.ConfigKind = "",
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
    no_cache: opt.NoCache = False,
    fail_on: Annotated[
        opt.FailOn, typer.Option("--fail-on", help="Least severity that makes the exit code 1.")
    ] = opt.FailOn.ERROR,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit 3 where something stayed open: undecided rules, no torch, nothing of the "
            "stack, a smoke run that could not start.",
        ),
    ] = False,
    ignore: opt.Ignore = [],  # noqa: B006
    rules: opt.Rules = [],  # noqa: B006
    format_: opt.CheckOutput = opt.CheckFormat.TEXT,
    output: opt.Outputs = [],  # noqa: B006
    output_dir: opt.OutputDir = "",
    redact: opt.Redact = False,
    color: opt.ColourOption = opt.Colour.AUTO,
    exit_zero: opt.ExitZero = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    debug: opt.Debug = False,
) -> None:
    """Say whether FlashAttention works here, if not why, and what to do."""
    from fadoctor.cli.terminal import log_to_stderr, spinner

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of_check(output, format_, output_dir)
    with forms.reporting(sinks, output_dir, redact=redact, exit_zero=exit_zero) as save:
        request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                           python_version, platform, thorough=thorough, requirements=requirements,
                           extra=extra, group=group, config=config, config_kind=config_kind,
                           contracts=True, cache=not no_cache)  # fmt: skip
        with spinner("reading", quiet=quiet) as say:
            needed = ("fadoctor.diagnose", forms.printer_of(sinks, "Report"))
            knowledge, environment = support.environment_of(request, rules, *needed, say=say)
            support.refuse_unknown_ids(ignore, knowledge)
        from fadoctor.diagnose import conclude

        prognosis, planned = support.foreseen(environment, knowledge, tuple(ignore))
        run = None
        if smoke and request.is_real:
            run = support.smoke_of_check(prognosis, thorough=thorough, quiet=quiet)
        report = support.with_advice(conclude(prognosis, run), request, planned)
        code = support.check_code(report, fail_on, strict=strict)
        how = forms.How(color.value, quiet, verbose, redact, fail_on, code)
        save(report, how)
        forms.deliver(report, sinks, how)
        if run is not None and run.interrupted:
            raise typer.Exit(EXIT_INTERRUPTED)
        leave(code, exit_zero=exit_zero)
