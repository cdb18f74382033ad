"""What a plan must bring, keep and may do, and whose commands it is written in."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from fadoctor.interfaces.cli import proposals


class Installer(str, enum.Enum):
    """Whose commands a plan is written in."""

    AUTO = "auto"
    PIP = "pip"
    UV = "uv"
    CONDA = "conda"


Want = Annotated[
    list[str],
    typer.Option(
        "--want",
        metavar="NAME",
        autocompletion=proposals.wishes,
        help="Package or backend that must work afterwards: flash-attn, fa3, hub-fa2, vllm. "
        "Repeatable.",
        show_default=False,
    ),
]
Keep = Annotated[
    list[str],
    typer.Option(
        "--keep",
        metavar="NAME",
        autocompletion=proposals.packages,
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
