"""How to name an environment that was only found."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.model.environment import Target


def how_to_name(target: Target, *options: str) -> str:
    """Return the sentence for an environment that was only found, with the command to type."""
    path = Path(target.roots.get("prefix", target.label))
    here = _cwd()
    if here is not None and path.is_relative_to(here):
        path = path.relative_to(here)
    command = shlex.join(["fadoctor", "fix", *options, "--python", str(path)])
    return (
        f"{target.label} was only found, not named and not active, so nothing in it is run or "
        f"changed. To name it: {command}"
    )


def _cwd() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
