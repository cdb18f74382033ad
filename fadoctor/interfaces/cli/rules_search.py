"""`fadoctor rules search TEXT`: the pages of rules that are nearest to some words."""

from __future__ import annotations

from typing import Annotated

import typer

from fadoctor.interfaces.cli.options import formats, showing
from fadoctor.interfaces.cli.output import write
from fadoctor.model.errors import UsageError


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...", help="Words, or a part of a message.", show_default=False
        ),
    ],
    count: Annotated[
        int,
        typer.Option("--count", metavar="N", min=1, max=50, help="Show at most this many pages."),
    ] = 5,
    format_: formats.OutputFormat = formats.Format.TEXT,
    output: showing.Output = None,
) -> None:
    """Find the pages of rules that match some words, best first."""
    from fadoctor.interfaces.commands.searching import near, render, render_json

    text = " ".join(words)
    if not text.strip():
        raise UsageError("rules search needs at least one word")
    found = near(text, count)
    write((render_json if format_ is formats.Format.JSON else render)(found), output)
