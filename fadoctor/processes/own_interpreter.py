"""The interpreter that runs us, as it started: what it imports from need not be asked by a child.

Only the command line takes note of it. A program that uses fadoctor as a library has had time to
change `sys.path`, and a fresh start would know nothing of that.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHANGING = ("isolated", "ignore_environment", "no_user_site", "no_site", "safe_path")
"""Flags by which a start looks elsewhere than another without them, or puts no script in front."""

_started: list[tuple[str, ...]] = []


def note_start() -> None:
    """Take note of `sys.path` before anything changes it; its first entry is the script's."""
    if not any(getattr(sys.flags, name, False) for name in _CHANGING):
        entries: list[object] = list(sys.path[1:])  # programs put there what they like
        _started[:] = [tuple(path for path in entries if isinstance(path, str) and path)]


def path_of_start(python: str, environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return what `sys.path` a fresh start of an interpreter has, without a script's folder.

    None where that is not the interpreter which runs us, or a start would differ from ours.
    """
    if not _started or environ is not os.environ or not sys.executable:
        return None
    # An environment's interpreter is a link, and what it belongs to hangs on the link's place.
    try:
        is_ours = os.path.dirname(python) == os.path.dirname(sys.executable) and (  # noqa: PTH120
            os.path.samefile(python, sys.executable)  # noqa: PTH121 -- texts
        )
    except (OSError, ValueError):
        return None
    return _started[0] if is_ours else None
