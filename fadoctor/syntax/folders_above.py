"""The folders above a file in which its project may begin, and its commands with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

UP_LIMIT = 3
"""Folders above that of a file that are looked at."""


def folders_above(folder: Path, fence: str = "") -> list[Path]:
    """Return the folders above one, the nearest first, up to that of its repository.

    None lies outside of the `fence`, where there is one.
    """
    found: list[Path] = []
    while len(found) < UP_LIMIT and not (folder / ".git").exists():
        above = folder / ".."
        is_top = os.path.realpath(above) == os.path.realpath(folder)
        if is_top or not is_inside(above, fence):
            break
        folder = above
        found.append(folder)
    return found


def is_inside(path: Path, fence: str) -> bool:
    """Return whether a path does not lead out of a fence; "" fences nothing off."""
    if not fence:
        return True
    root, real = os.path.realpath(fence), os.path.realpath(path)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)
