"""Addresses in the requirements of a project that hatchling builds: it refuses them by default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BACKEND = re.compile(r"\s{0,8}build-backend\s{0,8}=\s{0,8}['\"]hatchling\b")
_ALLOWED = re.compile(r"\s{0,8}(?:metadata\.)?allow-direct-references\s{0,8}=\s{0,8}true\b")
TABLE = "[tool.hatch.metadata]"
PERMISSION = "allow-direct-references = true"
"""Without it the project's own metadata cannot be made, so that nothing of it installs."""


def may_hold_address(lines: list[str]) -> bool:
    """Return whether a pyproject.toml may name a file by its address, once this returns.

    Where hatchling builds the project and nothing is said, the permission is written at the end.
    A table of its metadata that says nothing of addresses is left to the person.
    """
    if not _refuses(lines):
        return True
    if any(line.strip().startswith(TABLE) for line in lines):
        return False
    end = "\r" * any(line.endswith("\r") for line in lines)
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    lines += [end, f"{TABLE}{end}", f"{PERMISSION}{end}", ""]
    return True


def _refuses(lines: Sequence[str]) -> bool:
    is_hatch = any(_BACKEND.match(line) for line in lines)
    return is_hatch and not any(_ALLOWED.match(line) for line in lines)
