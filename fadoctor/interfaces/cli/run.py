"""The command ``run``: run a command unchanged, and explain a failure.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fadoctor.interfaces.cli import support
from fadoctor.interfaces.cli.options import judging, showing
from fadoctor.interfaces.cli.output import tell
from fadoctor.interfaces.cli.runner import harmless
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable


def run(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")
    ],
    rules: judging.Rules = [],  # noqa: B006
    color: showing.ColourOption = showing.Colour.AUTO,
    quiet: showing.Quiet = False,
    debug: showing.Debug = False,
) -> None:
    """Run a command unchanged; if it fails, explain why on standard error. Exit with its code."""
    from fadoctor.interfaces.cli.terminal import log_to_stderr
    from fadoctor.processes.live import KEPT, run_live

    log_to_stderr(debug=debug)
    ended = run_live(tuple(command))
    if ended.problem:
        tell(f"{printable(command[0], 200)}: {ended.problem}")
    elif ended.code:
        is_cut = len(ended.tail) >= KEPT  # perhaps within a word
        tail = ended.tail.partition(b"\n")[2] if is_cut else ended.tail
        _explain_failure(tail, rules, color, quiet=quiet)
    if ended.lost:
        tell(f"standard output: {ended.lost}: some of it is lost")
    raise typer.Exit(ended.code or (UsageError.exit_code if ended.lost else 0))


def _explain_failure(tail: bytes, rules: list[Path], color: showing.Colour, *, quiet: bool) -> None:
    """Explain the end of an output; what shows nothing of ours is not worth a word."""
    from fadoctor.interfaces.cli.person import Person
    from fadoctor.interfaces.cli.terminal import style_of
    from fadoctor.interfaces.commands.explain import ExplainRequest, explain_log, lies_in_active
    from fadoctor.judging.explain.explain import read_log
    from fadoctor.report.explanation_text import render

    request = ExplainRequest(
        lambda knowledge: read_log(io.BytesIO(tail), "output", knowledge),
        support.no_request(),
        lies_in_active,
        tuple(rules),
        repairs=False,
    )
    report = support.without_credentials(explain_log(request, Person(quiet=True)))
    if report.findings:
        style = style_of(color.value, None, quiet=quiet, verbose=False, stream=sys.stderr)
        sys.stderr.write(harmless("\n" + render(report, style), "text", os.environ))
