"""The options that commands share. typer reads these annotations when the commands are built."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from fadoctor.cli import values


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


class Colour(str, enum.Enum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class FailOn(str, enum.Enum):
    """The least severity that makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class Installer(str, enum.Enum):
    """Whose commands a plan is written in."""

    AUTO = "auto"
    PIP = "pip"
    UV = "uv"
    CONDA = "conda"


_TARGET = "What is examined"
_ASSUME = "What if"
_OUTPUT = "Output"

Target = Annotated[
    str,
    typer.Argument(
        metavar="[TARGET]",
        help="An interpreter or an environment's folder, the same as --python.",
        show_default=False,
    ),
]
Python = Annotated[
    str,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Interpreter or folder of the environment. Default: FADOCTOR_PYTHON, $VIRTUAL_ENV, "
        "$CONDA_PREFIX, the nearest .venv, the python on PATH, this interpreter.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
SitePackages = Annotated[
    str,
    typer.Option(
        "--site-packages",
        metavar="DIR",
        help="Examine a folder of packages without an interpreter.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
Facts = Annotated[
    str,
    typer.Option(
        "--facts",
        metavar="FILE|-",
        help="Use saved facts, the output of `fadoctor facts`, or a pasted report: collect_env, "
        "nvidia-smi, pip list and others.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
Requirements = Annotated[
    list[Path],
    typer.Option(
        "--requirements",
        metavar="FILE",
        help="Examine what a requirement or lock file would install, on this machine or an assumed "
        "one: requirements.txt, uv.lock and others. Repeatable.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
Extra = Annotated[
    list[str],
    typer.Option(
        "--extra",
        metavar="NAME",
        help="With --requirements: include this extra of the project. Repeatable.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
Group = Annotated[
    list[str],
    typer.Option(
        "--group",
        metavar="NAME",
        help="With --requirements: include this group, category or pixi environment. Repeatable.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
Config = Annotated[
    list[str],
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration of the run that is meant: of a trainer, a server, a model, an adapter, "
        "a script. Repeatable: several files are one run.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
ConfigKind = Annotated[
    str,
    typer.Option(
        "--config-kind",
        metavar="KIND",
        autocompletion=values.config_kinds,
        help="Read --config as this: llamafactory, trainer, deepspeed, python ... Default: by "
        "content.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
Gpu = Annotated[
    list[str],
    typer.Option(
        "--gpu",
        metavar="NAME",
        autocompletion=values.gpus,
        help="Assume this GPU: V100, RTX 4090, sm_90, none. Repeatable.",
        rich_help_panel=_ASSUME,
        show_default=False,
    ),
]
Driver = Annotated[
    str,
    typer.Option(
        "--driver",
        metavar="VERSION",
        help="Assume this NVIDIA driver.",
        rich_help_panel=_ASSUME,
        show_default=False,
    ),
]
Glibc = Annotated[
    str,
    typer.Option(
        "--glibc",
        metavar="VERSION",
        help="Assume this glibc.",
        rich_help_panel=_ASSUME,
        show_default=False,
    ),
]
PythonVersion = Annotated[
    str,
    typer.Option(
        "--python-version",
        metavar="X.Y",
        help="Assume this Python.",
        rich_help_panel=_ASSUME,
        show_default=False,
    ),
]
Platform = Annotated[
    str,
    typer.Option(
        "--platform",
        metavar="NAME",
        autocompletion=values.platforms,
        help="Assume linux_x86_64, linux_aarch64, win_amd64 or macosx_arm64.",
        rich_help_panel=_ASSUME,
        show_default=False,
    ),
]
OutputFormat = Annotated[
    Format,
    typer.Option("--format", help="Output format.", rich_help_panel=_OUTPUT),
]
ReportOutput = Annotated[
    ReportFormat,
    typer.Option(
        "--format",
        help="Output format. markdown is redacted, to be pasted in public.",
        rich_help_panel=_OUTPUT,
    ),
]
CheckOutput = Annotated[
    CheckFormat,
    typer.Option(
        "--format",
        help="Output format. markdown is redacted, to be pasted in public; fleet is one line "
        "for `fadoctor fleet`, frames a full report in such lines.",
        rich_help_panel=_OUTPUT,
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
FactsOutput = Annotated[
    FactsFormat,
    typer.Option("--format", help="Output format: JSON alone.", rich_help_panel=_OUTPUT),
]
PlanOutput = Annotated[
    PlanFormat,
    typer.Option(
        "--format",
        help="Output format of the plan. dockerfile, uv (pyproject.toml), pixi, conda and colab (a "
        "notebook) describe the whole environment, to make it anew.",
        rich_help_panel=_OUTPUT,
    ),
]
Want = Annotated[
    list[str],
    typer.Option(
        "--want",
        metavar="NAME",
        autocompletion=values.wishes,
        help="Must be there and work afterwards: flash-attn, fa3, hub-fa2, vllm. Repeatable.",
        show_default=False,
    ),
]
Keep = Annotated[
    list[str],
    typer.Option(
        "--keep",
        metavar="NAME",
        autocompletion=values.packages,
        help="Leave this package as it is: torch. Repeatable.",
        show_default=False,
    ),
]
AllowBuild = Annotated[
    bool,
    typer.Option("--allow-build", help="Also consider compiling flash-attn here."),
]
NoHub = Annotated[
    bool,
    typer.Option(
        "--no-hub",
        help="Do not propose kernels that transformers downloads from the Hub at run time.",
    ),
]
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
        help="Ignore settings: fadoctor.toml and [tool.fadoctor] in pyproject.toml.",
    ),
]
FailOnOption = Annotated[
    FailOn | None,
    typer.Option(
        "--fail-on",
        help="Lowest severity that makes the exit code 1. Default: error, or what the "
        "settings say.",
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
ReadAll = Annotated[
    bool,
    typer.Option("--thorough", help="Also read all symbols and GPU code of torch itself."),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Follow the imports of the installed packages anew, and keep nothing of it.",
    ),
]
CheckAll = Annotated[
    bool,
    typer.Option(
        "--thorough",
        help="Read all of torch's own libraries; run every case, even those predicted to fail; "
        "import each package of the stack.",
    ),
]
Thorough = Annotated[
    bool,
    typer.Option("--thorough", help="Run every case, even those predicted to fail."),
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever is found.")]
Ignore = Annotated[
    list[str],
    typer.Option(
        "--ignore",
        metavar="RULE-ID",
        autocompletion=values.rule_ids,
        help="Hide the findings of this rule. Repeatable.",
        show_default=False,
    ),
]
