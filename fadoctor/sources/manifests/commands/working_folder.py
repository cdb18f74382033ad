"""Where the commands of a script run, and what lies beside the files there."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from fadoctor.sources.manifests.commands.local_project import PROJECT_FILES

if TYPE_CHECKING:
    from fadoctor.sources.manifests.images.planned_stage import Stage

_PLAIN_PATH = re.compile(r"[\w./-]{1,400}")
# cd "$(dirname "$0")/..", cd $PROJECT_ROOT
_OWN = re.compile(r"dirname|BASH_SOURCE|SCRIPT_?DIR|ROOT|rev-parse", re.IGNORECASE)


class WorkingFolder:
    """Follows ``cd`` through the commands of one script."""

    def __init__(self, stage: Stage) -> None:
        """Begin where the stage begins: in its image, or beside the files."""
        self._stage = stage
        self._path: str | None = self._first
        self._has_cloned = False
        self.is_fetched = False
        """Whether it is a fetched repository, with files of its own."""

    @property
    def _first(self) -> str:
        return self._stage.workdir or ""

    def watch(self, names: list[str]) -> None:
        """Follow one command."""
        if names[:2] == ["git", "clone"]:
            self._has_cloned = True
        elif names[0] in {"cd", "pushd"}:
            self.is_fetched = self._has_cloned and names[1:2] not in ([], ["-"], [".."])
            self._path = self._changed(names[1] if len(names) == 2 else "")
        elif names[0] == "popd":
            self.is_fetched, self._path = False, self._first

    def _changed(self, to: str) -> str | None:
        if _OWN.search(to):
            return self._first
        if _PLAIN_PATH.fullmatch(to) is None or (self._path is None and to[0] != "/"):
            return None
        return posixpath.join(self._path or "", to)

    def beside(self, path: str) -> str | None:
        """Return where a path lies among the files; None where none of them was copied there."""
        return self._stage.beside(posixpath.join(self._path or "", path))

    def path(self, name: str) -> str | None:
        """Return the path of a file that a command names; None where that is unknown."""
        if not name or (self._path is None and not name.startswith("/")):
            return None
        return posixpath.normpath(posixpath.join(self._path or "", name))

    def projects(self, folder: str) -> tuple[str, ...]:
        """Return where a project in a folder may lie among the files; () where that is unknown."""
        if not folder or self._path is None or self.is_fetched:
            return ()
        there = self.beside(folder)
        if there is not None or folder != ".":
            return (there,) if there is not None else ()
        copied = self._stage.copied
        found = (posixpath.dirname(copied[name]) for name in PROJECT_FILES if name in copied)
        return tuple(dict.fromkeys(found))
