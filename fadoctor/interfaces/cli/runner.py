"""Keep GitHub's runner from taking what is printed for commands.

The runner obeys lines that begin with ``::``, blanks before them apart, and ``##[`` anywhere in a
line. What people read is put between markers that stop it; documents, whose readers want nothing
else on standard output, spell the signs otherwise.

Source: GitHub, Workflow commands for GitHub Actions; actions/runner, ActionCommand.cs.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COMMANDS = "github"
"""The form that is meant for the runner."""

_JSON = ("json", "jsonl", "sarif", "gitlab", "colab")
_XML = ("junit", "html")
_LINES = ("script", "requirements", "dockerfile", "uv", "pixi", "conda", "prometheus")
_STREAMS = ("/dev/std", "/dev/fd/", "/dev/tty", "/proc/self/fd/")
_BEGINS = re.compile(r"(?m)^([^\S\n]*)::")


def is_runner(environ: Mapping[str, str]) -> bool:
    """Return whether GitHub's runner reads what this process prints."""
    return environ.get("GITHUB_ACTIONS") == "true"


def is_stream(path: Path | None) -> bool:
    """Return whether what is written there is printed."""
    return path is None or str(path).startswith(_STREAMS)


def harmless(text: str, form: str, environ: Mapping[str, str]) -> str:
    """Return a text so that the runner obeys none of it; as it is where no runner reads it."""
    if not is_runner(environ) or form == COMMANDS or not text:
        return text
    if form in _JSON:
        return text.replace("##[", "#\\u0023[")
    if form in _XML:
        return _BEGINS.sub(r"\1&#58;:", text).replace("##[", "#&#35;[")
    if form in _LINES:
        return _BEGINS.sub(r"\1# ::", text).replace("##[", "# #[")
    token = os.urandom(16).hex()
    end = "" if text.endswith("\n") else "\n"
    return f"::stop-commands::{token}\n{text}{end}::{token}::\n"
