"""What is examined: which environment, files and machine, and how closely."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fadoctor.interfaces.cli import proposals

_TARGET = "What is examined"
_ASSUME = "What if"

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
Resolve = Annotated[
    bool,
    typer.Option(
        "--resolve",
        help="With --requirements: ask uv, else pip, which releases they install."
        " Uses the network.",
        rich_help_panel=_TARGET,
    ),
]
Config = Annotated[
    list[str],
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration of the run that you plan: trainer, server, model, adapter or script. "
        "Repeatable: several files are one run.",
        rich_help_panel=_TARGET,
        show_default=False,
    ),
]
ConfigKind = Annotated[
    str,
    typer.Option(
        "--config-kind",
        metavar="KIND",
        autocompletion=proposals.config_kinds,
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
        autocompletion=proposals.gpus,
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
        autocompletion=proposals.platforms,
        help="Assume this platform: linux_x86_64, linux_aarch64, win_amd64 (windows)"
        " or macosx_arm64 (macos).",
        rich_help_panel=_ASSUME,
        show_default=False,
    ),
]
ReadAll = Annotated[
    bool,
    typer.Option("--thorough", help="Also read all symbols and GPU code of torch itself."),
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
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Follow the imports of the installed packages again, without the cache.",
    ),
]
