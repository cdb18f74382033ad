"""By which rules and settings, and what makes an exit code."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from fadoctor.interfaces.cli import proposals


class FailOn(str, enum.Enum):
    """The least severity that makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


LOWEST = "Lowest severity that makes the exit code 1: error, warning, note or never"

Rules = Annotated[
    list[Path],
    typer.Option(
        "--rules",
        metavar="DIR",
        help="Folder with your own rules and tables, added to the shipped ones. Repeatable.",
        show_default=False,
    ),
]
NoConfigFile = Annotated[
    bool,
    typer.Option(
        "--no-config-file",
        help="Ignore settings: fadoctor.toml and the table tool.fadoctor of pyproject.toml.",
    ),
]
FailOnOption = Annotated[
    FailOn | None,
    typer.Option(
        "--fail-on",
        metavar="SEVERITY",
        help=f"{LOWEST}. Default: error, or what the settings say.",
        show_default=False,
    ),
]
Ignore = Annotated[
    list[str],
    typer.Option(
        "--ignore",
        metavar="RULE-ID",
        autocompletion=proposals.rule_ids,
        help="Hide the findings of this rule. Repeatable.",
        show_default=False,
    ),
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever is found.")]
