"""Find out which files of a long list are not there, with as few calls as possible."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.sources.probes.interpreter_files import list_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEW = 3
"""Files of a folder for which it is not worth while to list it."""

_ENTRIES = 20_000
"""Entries of a folder that are listed; what comes later is asked for by name."""


def find_missing(root: str, paths: Sequence[str]) -> list[str]:
    """Return the paths below `root` where nothing is, in their order.

    Folders are listed rather than each file asked for. What a listing does not show as it is
    spelled, or shows as a link, is asked for by name: on disks that know no case it is there, and a
    link may lead nowhere.
    """
    listed: dict[str, frozenset[str]] = {}
    for folder, count in Counter(path.rpartition("/")[0] for path in paths).items():
        listed[folder] = _files_of(f"{root}/{folder}") if count > _FEW else frozenset()
    missing = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name not in listed[folder] and _is_missing(f"{root}/{path}"):
            missing.append(path)
    return missing


def _files_of(folder: str) -> frozenset[str]:
    """Return what surely is in a folder; nothing where it cannot be told."""
    entries = list_folder(folder, _ENTRIES)
    try:
        return frozenset(entry.name for entry in entries if not entry.is_symlink())
    except OSError:  # some disks do not say with the name whether it is a link
        return frozenset()


def _is_missing(path: str) -> bool:
    """Say whether nothing is there; a file that may not be looked at is not called missing."""
    try:
        os.stat(path)  # noqa: PTH116 -- thousands of them: a Path costs more than the call
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
