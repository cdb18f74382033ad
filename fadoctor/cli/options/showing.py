"""Where output goes and how it looks."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

_OUTPUT = "Output"


class Colour(str, enum.Enum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write to a file instead of standard output.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Outputs = Annotated[
    list[str],
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write to a file instead of standard output (-), in the format of its ending: .sarif, "
        ".md, .json ...; FORM:FILE names another. Repeatable.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
OutputDir = Annotated[
    str,
    typer.Option(
        "--output-dir",
        metavar="DIR",
        help="On a node of many: write the full report as a file of its own into this folder, for "
        "`fadoctor fleet DIR`.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Leave out user, host, folders and tokens.",
        rich_help_panel=_OUTPUT,
    ),
]
ColourOption = Annotated[
    Colour,
    typer.Option("--color", help="When to use colour.", rich_help_panel=_OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print the answer in one line.",
        rich_help_panel=_OUTPUT,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Also show the evidence, every fix, and the reason for each cell of the table.",
        rich_help_panel=_OUTPUT,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Log what is read, and show stacks of internal errors.",
        rich_help_panel=_OUTPUT,
    ),
]
