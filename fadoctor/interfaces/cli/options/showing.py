"""Where output goes and how it looks."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

_OUTPUT = "Output"


class Colour(str, enum.Enum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def _outputs(endings: str) -> Any:
    return typer.Option(
        "--output",
        metavar="FILE",
        help="Write to a file instead of standard output (-), in the format of its ending: "
        f"{endings} ...; FORMAT:FILE chooses another. Repeatable.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    )


def _verbose(more: str) -> Any:
    return typer.Option("--verbose", "-v", help=f"Also show {more}.", rich_help_panel=_OUTPUT)


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
Outputs = Annotated[list[str], _outputs(".sarif, .md, .json")]
PlanOutputs = Annotated[list[str], _outputs(".sh, .md, .dockerfile")]
SmokeOutputs = Annotated[list[str], _outputs(".xml, .md, .json")]
FleetOutputs = Annotated[list[str], _outputs(".html, .json, .prom")]
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
    bool, _verbose("the evidence, every fix, and the reason for each cell of the table")
]
ExplainVerbose = Annotated[bool, _verbose("the evidence, every fix, and what the log names")]
PlanVerbose = Annotated[bool, _verbose("all that changes, and the hash and index of each file")]
SmokeVerbose = Annotated[bool, _verbose("the evidence, every fix, and what was seen in each cell")]
TraceVerbose = Annotated[bool, _verbose("the evidence, every fix, and all kinds of calls")]
FleetVerbose = Annotated[bool, _verbose("the evidence, every fix, and all groups and differences")]


def _debug(more: str = "") -> Any:
    what = f"Log what is read{more}, and show stacks of internal errors."
    return typer.Option("--debug", help=what, rich_help_panel=_OUTPUT)


Debug = Annotated[bool, _debug()]
CheckDebug = Annotated[bool, _debug(" and the reasons for each rule's outcome")]
