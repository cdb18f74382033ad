"""The command ``mcp``: answer assistants over the Model Context Protocol."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from fadoctor.interfaces.cli.support import interrupted
from fadoctor.model.errors import UsageError

_MISSING = (
    "mcp: the Model Context Protocol's SDK (mcp 2 or newer) is not installed beside fadoctor: "
    "install it into fadoctor's own environment with `pip install 'mcp>=2,<3'`"
)


def mcp(
    folder: Annotated[
        Path,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="The folder in which an assistant may name files. Default: the current folder.",
            show_default=False,
        ),
    ] = Path(),
) -> None:
    """Answer assistants over the Model Context Protocol: check, explain and plan, read-only."""
    if not folder.is_dir():
        raise UsageError(f"--folder {folder}: not a folder")
    try:
        from fadoctor.interfaces.assistants.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "pydantic"):
            raise
        raise UsageError(_MISSING) from error
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    serve(folder)


def _end(*_: object) -> None:
    """End at once: the SDK's reader would wait for another line."""
    code = interrupted()
    sys.stderr.flush()
    os._exit(code)
