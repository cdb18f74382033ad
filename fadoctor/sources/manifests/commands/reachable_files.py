"""Files that commands name: beside the file that has the commands, or in its project above it.

``docker/Dockerfile`` and ``.github/workflows/test.yml`` name files from the project's own folder.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.syntax.folders_above import folders_above, is_inside

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fadoctor.sources.manifests.source import Source

_COPIED_LIMIT = 30
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What lies in the folder of a project."""


class ReachableFiles:
    """Finds the files that the commands of one file name."""

    def __init__(self, source: Source, copied: Iterable[str] = ()) -> None:
        """Take the file, and the paths that a Dockerfile copies from its build context."""
        self.source = source
        self.folders = _folders(source, [*copied][:_COPIED_LIMIT])
        """Relative to the folder of the file, the likeliest first: "", ".."."""

    def has(self, path: str) -> bool:
        """Return whether a file or a folder is there."""
        own = self.source.path.parent
        found = (own / folder / path for folder in self.folders)
        return any(each.exists() and is_inside(each, self.source.fence) for each in found)

    def read(self, *paths: str) -> Source:
        """Return the first of some files that is there; InputError on the first path if none is."""
        places = [os.path.join(folder, path) for folder in self.folders for path in paths]  # noqa: PTH118 -- "./" stays
        for place in places:
            with suppress(InputError):
                return self.source.read_beside(place)
        return self.source.read_beside(places[0])  # says why the likeliest is not read


def _folders(source: Source, copied: list[str]) -> tuple[str, ...]:
    """Return the folder of the file and those above it, up to that of its project.

    The folder that has most of what is copied is the build context: it goes before the others.
    """
    own = source.path.parent
    above = folders_above(own, source.fence)
    marked = [count for count, each in enumerate((own, *above)) if _is_project(each)]
    counts = [_there(each, copied) for each in (own, *above)]
    best = counts.index(max(counts))
    reached = max(best, marked[0] if marked else 0)
    order = sorted(range(reached + 1), key=lambda count: (count != best, count))
    return tuple("/".join(("..",) * count) for count in order)


def _is_project(folder: Path) -> bool:
    return any((folder / name).exists() for name in _MARKS)


def _there(folder: Path, copied: list[str]) -> int:
    """Return how many of some paths are in a folder."""
    return sum((folder / path).exists() for path in copied if path not in ("", ".", "./"))
