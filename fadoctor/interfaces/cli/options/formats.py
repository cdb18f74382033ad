"""The formats of each command's output, and the option that chooses one."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

_OUTPUT = "Output"
_FORMAT = "FORMAT"
"""Stands for many choices: in a narrow window their list is broken within words."""


class Format(str, enum.Enum):
    """Output formats of every command."""

    TEXT = "text"
    JSON = "json"


class ReportFormat(str, enum.Enum):
    """Output formats of findings."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    GITLAB = "gitlab"


class CheckFormat(str, enum.Enum):
    """Output formats of ``check``: those of findings, and those of a node of a fleet."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    GITLAB = "gitlab"
    FLEET = "fleet"
    FRAMES = "frames"


class FleetFormat(str, enum.Enum):
    """Output formats of a fleet."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    HTML = "html"
    PROMETHEUS = "prometheus"


class SmokeFormat(str, enum.Enum):
    """Output formats of a smoke run."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"


class FactsFormat(str, enum.Enum):
    """Output formats of facts."""

    JSON = "json"


class PlanFormat(str, enum.Enum):
    """Output formats of a plan."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    HTML = "html"
    SCRIPT = "script"
    REQUIREMENTS = "requirements"
    DOCKERFILE = "dockerfile"
    UV = "uv"
    PIXI = "pixi"
    CONDA = "conda"
    COLAB = "colab"


OutputFormat = Annotated[
    Format,
    typer.Option("--format", help="Output format.", rich_help_panel=_OUTPUT),
]
ReportOutput = Annotated[
    ReportFormat,
    typer.Option(
        "--format",
        metavar=_FORMAT,
        help=f"Output format: {', '.join(ReportFormat)}. markdown is redacted, to be pasted in "
        "public.",
        rich_help_panel=_OUTPUT,
    ),
]
CheckOutput = Annotated[
    CheckFormat,
    typer.Option(
        "--format",
        metavar=_FORMAT,
        help=f"Output format: {', '.join(CheckFormat)}. markdown is redacted, to be pasted in "
        "public. fleet is one line for `fadoctor fleet`; frames is a full report in such lines.",
        rich_help_panel=_OUTPUT,
    ),
]
FleetOutput = Annotated[
    FleetFormat,
    typer.Option(
        "--format",
        metavar=_FORMAT,
        help=f"Output format: {', '.join(FleetFormat)}.",
        rich_help_panel=_OUTPUT,
    ),
]
SmokeOutput = Annotated[
    SmokeFormat,
    typer.Option(
        "--format",
        metavar=_FORMAT,
        help=f"Output format: {', '.join(SmokeFormat)}.",
        rich_help_panel=_OUTPUT,
    ),
]
FactsOutput = Annotated[
    FactsFormat,
    typer.Option("--format", help="Output format: JSON only.", rich_help_panel=_OUTPUT),
]
PlanOutput = Annotated[
    PlanFormat,
    typer.Option(
        "--format",
        metavar=_FORMAT,
        help=f"Output format of the plan: {', '.join(PlanFormat)}. dockerfile, uv "
        "(pyproject.toml), pixi, conda and colab (a notebook) describe the whole environment, to "
        "recreate it.",
        rich_help_panel=_OUTPUT,
    ),
]
