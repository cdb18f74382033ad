"""The command ``trace``: run a command unchanged, and say which attention ran and in what dtype.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

import enum
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fadoctor.interfaces.cli import support
from fadoctor.interfaces.cli.options import judging, showing
from fadoctor.interfaces.cli.output import tell, write
from fadoctor.interfaces.cli.runner import harmless
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.trace import TraceReport
    from fadoctor.report.style import Style


class TraceFormat(str, enum.Enum):
    """Output formats of a trace."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


def trace(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")
    ],
    calls: Annotated[
        int,
        typer.Option("--calls", metavar="N", min=1, max=100_000, help="Attention calls to record."),
    ] = 256,
    eager: Annotated[
        bool,
        typer.Option("--eager", help="Turn torch.compile off, to see inside compiled code."),
    ] = False,
    rules: judging.Rules = [],  # noqa: B006 -- typer copies defaults
    format_: Annotated[
        TraceFormat,
        typer.Option("--format", help="Output format.", rich_help_panel="Output"),
    ] = TraceFormat.TEXT,
    output: showing.Output = None,
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    quiet: showing.Quiet = False,
    verbose: showing.TraceVerbose = False,
    debug: showing.Debug = False,
) -> None:
    """Run a command unchanged: report its attention, and which code made q, k or v float32."""
    from fadoctor.interfaces.cli.terminal import log_to_stderr, style_of
    from fadoctor.interfaces.commands.trace import TraceRequest
    from fadoctor.interfaces.commands.trace import trace as traced

    log_to_stderr(debug=debug)
    format_, output = _format_of(output, format_)
    run, report = traced(TraceRequest(tuple(command), calls, eager, tuple(rules)))
    if report is None:
        tell(f"{printable(command[0], 200)}: {run.problem}")
        raise typer.Exit(run.code)
    if run.lost:
        tell(f"standard output: {run.lost}: some of it is lost")
    report = support.without_credentials(report)
    report = support.redacted(report) if redact else report
    style = style_of(color.value, output, quiet=quiet, verbose=verbose, stream=sys.stderr)
    text = _rendered(report, format_, style)
    if output is None:
        text = f"\n{text}" if format_ is TraceFormat.TEXT else text
        sys.stderr.write(harmless(text, format_.value, os.environ))
    else:
        write(text, output, format_.value)
    raise typer.Exit(run.code or (UsageError.exit_code if run.lost else 0))


def _format_of(output: Path | None, chosen: TraceFormat) -> tuple[TraceFormat, Path | None]:
    """Return format and file: by the file's ending unless chosen; UsageError for another."""
    from fadoctor.interfaces.cli import forms

    if output is None:
        return chosen, None
    [sink] = forms.sinks_of([str(output)], chosen)
    return TraceFormat(sink.form.value), sink.path


def _rendered(report: TraceReport, format_: TraceFormat, style: Style) -> str:
    if format_ is TraceFormat.JSON:
        from fadoctor.report.json_ import render as render_json

        return render_json(report)
    if format_ is TraceFormat.HTML:
        from fadoctor.report.html.trace import render as render_html

        return render_html(report)
    from fadoctor.report.trace_text import render as render_text

    return render_text(report, style)
