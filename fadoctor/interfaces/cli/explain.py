"""The command ``explain``: from a log to the root cause and the fix.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from fadoctor.interfaces.cli import forms, support
from fadoctor.interfaces.cli.options import formats, judging, looking, showing
from fadoctor.model.errors import UsageError

if TYPE_CHECKING:
    from fadoctor.judging.explain.explain import Reading
    from fadoctor.model.rule import Knowledge

LogFile = Annotated[
    str,
    typer.Argument(
        metavar="[FILE|-|TEXT]",
        help="A log, - for standard input, or the text of an error itself.",
        show_default=False,
    ),
]


def explain(
    log: LogFile = "-",
    target: looking.Target = "",
    python: looking.Python = "",
    site_packages: looking.SitePackages = "",
    facts: looking.Facts = "",
    gpu: looking.Gpu = [],  # noqa: B006 -- typer copies defaults
    driver: looking.Driver = "",
    glibc: looking.Glibc = "",
    python_version: looking.PythonVersion = "",
    platform: looking.Platform = "",
    fail_on: judging.FailOnOption = None,
    ignore: judging.Ignore = [],  # noqa: B006
    rules: judging.Rules = [],  # noqa: B006
    no_config_file: judging.NoConfigFile = False,
    format_: formats.ReportOutput = formats.ReportFormat.TEXT,
    output: showing.Outputs = [],  # noqa: B006
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    exit_zero: judging.ExitZero = False,
    quiet: showing.Quiet = False,
    verbose: showing.ExplainVerbose = False,
    debug: showing.Debug = False,
) -> None:
    """Explain a log, a traceback or one pasted line: what went wrong, why, and what to do."""
    from fadoctor.interfaces.cli.person import Person
    from fadoctor.interfaces.cli.terminal import log_to_stderr
    from fadoctor.interfaces.commands import explain as commands

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of(output, format_)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform)  # fmt: skip
    if log == "-" and facts == "-":
        raise UsageError("the log and --facts cannot both be standard input")
    settings = support.settings_of(no_config_file=no_config_file, quiet=quiet)
    failing = support.failing_from(fail_on, settings)

    def ignored(knowledge: Knowledge) -> tuple[str, ...]:
        support.refuse_unknown_ids(ignore, knowledge)
        return settings.hiding(tuple(ignore), knowledge)

    asked = commands.ExplainRequest(
        lambda knowledge: _read(log, knowledge),
        request,
        lambda reading: request.names_a_target or commands.lies_in_active(reading),
        (*settings.rules, *rules),
        ignored,
    )
    report = commands.explain_log(asked, Person(quiet=quiet or log == "-"))
    if settings.notes:
        report = msgspec.structs.replace(report, notes=(*report.notes, *settings.notes))
    forms.deliver(report, sinks, forms.Looks(color.value, quiet, verbose, redact, failing))
    code = support.severity_code(report.summary, failing)
    if report.rule_errors:
        raise typer.Exit(support.EXIT_INTERNAL)
    raise typer.Exit(0 if exit_zero else code)


def _read(log: str, knowledge: Knowledge) -> Reading:
    from fadoctor.interfaces.commands.explain import is_text, read_file, read_text

    if is_text(log):
        return read_text(io.BytesIO(log.encode("utf-8", "surrogateescape")), "the text", knowledge)
    if log == "-":
        if sys.stdin.isatty():
            sys.stderr.write("fadoctor: paste the log, then end it with Ctrl-D\n")
        return read_text(sys.stdin.buffer, "standard input", knowledge)
    return read_file(log, knowledge)
