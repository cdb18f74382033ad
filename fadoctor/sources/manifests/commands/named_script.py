"""A shell script that a command starts: ``bash install.sh``, ``./setup.sh``, ``source env.sh``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.sources.manifests.commands.reachable_files import ReachableFiles
    from fadoctor.sources.manifests.commands.working_folder import WorkingFolder
    from fadoctor.sources.manifests.images.planned_stage import Stage
    from fadoctor.sources.manifests.source import Source

DEPTH_LIMIT = 4
"""How many scripts may start one another."""

LENGTH_LIMIT = 1 << 18
"""Longest script that is followed, in characters."""

_SHELLS = frozenset(("bash", "sh", "dash", "zsh"))
_HERE = frozenset(("source", "."))
_SHEBANG = re.compile(r"#![^\n]{0,100}\b(?:bash|dash|zsh|sh)\b")
_PATH = re.compile(r"[\w./-]{1,300}")


def named_script(
    words: Sequence[str], files: ReachableFiles, folder: WorkingFolder, stage: Stage
) -> Source | None:
    """Return the script that a command starts, where it lies among the files; else None."""
    path = _path(words)
    if not path or _PATH.fullmatch(path) is None or folder.is_fetched:
        return None
    name = path.rpartition("/")[2]
    paths = (folder.beside(path), stage.copied.get(name))
    for each in dict.fromkeys(filter(None, paths)):
        try:
            source = files.read(each)
        except InputError:
            continue
        is_script = name.endswith((".sh", ".bash")) or _SHEBANG.match(source.text) is not None
        return source if is_script and len(source.text) <= LENGTH_LIMIT else None
    return None


def _path(words: Sequence[str]) -> str:
    """Return the script's path as the command has it; "" where it starts none."""
    first = words[0].rpartition("/")[2]
    if words[0] in _HERE:
        return words[1] if len(words) > 1 else ""
    if first not in _SHELLS:
        return words[0] if "/" in words[0] or words[0].endswith((".sh", ".bash")) else ""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        if "c" in rest.pop(0).lstrip("-").partition("=")[0]:
            return ""  # a text for the shell, which is followed where it is
    return rest[0] if rest else ""
