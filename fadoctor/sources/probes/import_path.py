"""The target's import path: its package folders, and those that ``.pth`` files add.

Only names are read, never code: an ``import`` line of a ``.pth`` file is not run. Everything is
bounded, and what a bound cuts off is told in `ImportPath.problem`.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Fact, Known
from fadoctor.sources.probes.world import World, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_FOLDERS = 256
MAX_NAMES = 20_000
"""Entries of one folder that are looked at: large site-packages have 2,000."""
MAX_ALL_NAMES = 200_000
"""The same over all folders."""
MAX_PTH_FILES = 500
MAX_PTH_LINES = 1_000
PTH_LIMIT = 1 << 16
"""Bytes of one .pth file."""

PYTHONPATH = "PYTHONPATH"
MAX_ENTRIES = 200
"""Folders of PYTHONPATH that are looked at."""

# lib/python3.11/site-packages, Debian's lib/python3/dist-packages, Windows' Lib/site-packages
_OWN = re.compile(
    r"/(?:(?:local/)?lib(?:64)?/(?:python|pypy)[\d.]{0,6}t?|Lib)/(?:site|dist)-packages"
)

ROOTS = (("$site", "site"), ("$prefix", "prefix"), ("~", "home"))


class Folder(msgspec.Struct, frozen=True):
    """One folder of the import path and the names in it, sorted."""

    path: str
    names: tuple[str, ...]


class ImportPath(msgspec.Struct, frozen=True):
    """The folders in import order, each once, however it is reached."""

    folders: tuple[Folder, ...]
    problem: str = ""
    """Why this may not be all of it; empty where it is."""


class Package(msgspec.Struct, frozen=True):
    """Where an import name leads: one folder, or the portions of a namespace package."""

    folders: tuple[str, ...]
    regular: bool
    """Whether the folder has an ``__init__.py``."""


def read_import_path(world: World, *more: str) -> ImportPath:
    """Return the import path of the target, then the folders named in `more`.

    Four probes ask for it, nearly always for the same one.
    """
    target = world.target
    roots = tuple(sorted(target.roots.items()))
    asked = ("import path", target.site, roots, world.root, world.environ.get(PYTHONPATH), more)
    kept = world.kept.get(asked)
    if not isinstance(kept, ImportPath):
        kept = world.kept[asked] = _read(world, more)
    return kept


def _read(world: World, more: tuple[str, ...]) -> ImportPath:
    walk, entries = _Walk(), pythonpath(world)
    for site in world.target.site:
        folder = walk.add(site, required=True)
        # site.py reads the .pth files of the environment's folders, not those of PYTHONPATH.
        reads = is_own(world, site) or world.inside(os.path.normpath(site)) not in entries
        if folder is not None and reads:
            for line in walk.pth_lines(folder):
                walk.add(os.path.join(folder.path, line))  # noqa: PTH118 -- site.py joins like this
    if not walk.found:
        walk.problems.append("no package folder of the target is there")
    for extra in more:
        walk.add(extra)
    return ImportPath(tuple(walk.found.values()), "; ".join(walk.problems[:3]))


def pythonpath(world: World) -> frozenset[str]:
    """Return the folders of PYTHONPATH; what is relative is another one in another folder."""
    entries = world.environ.get(PYTHONPATH, "").split(os.pathsep)[:MAX_ENTRIES]
    return frozenset(os.path.normpath(entry) for entry in entries if os.path.isabs(entry))  # noqa: PTH117 -- text


def is_own(world: World, folder: str) -> bool:
    """Return whether a folder is one that the environment itself has its packages in."""
    return _OWN.fullmatch(below(world, "prefix", folder)) is not None


def below(world: World, root: str, folder: str) -> str:
    """Return the rest of a path below a named root, with slashes; empty where it is not below."""
    text = world.inside(world.target.roots.get(root, "")).rstrip("/\\")
    here = world.inside(folder)
    return here[len(text) :].replace("\\", "/") if text and here.startswith(text) else ""


def list_names(folder: str, limit: int) -> tuple[tuple[str, ...], str]:
    """Return at most `limit` names of a folder, sorted, and why that is not all of them, or ""."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) >= limit:
                    return tuple(sorted(names)), f"has more than {limit:,} entries"
                names.append(entry.name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        return tuple(sorted(names)), f"cannot be listed: {reason}"
    return tuple(sorted(names)), ""


def find_package(path: ImportPath, name: str) -> Package | None:
    """Return where ``import name`` leads: the first regular package, else every portion."""
    portions = [str(Path(folder.path, name)) for folder in path.folders if name in folder.names]
    portions = [portion for portion in portions if Path(portion).is_dir()]
    for portion in portions:
        if Path(portion, "__init__.py").is_file():
            return Package((portion,), regular=True)
    return Package(tuple(portions), regular=False) if portions else None


def editable_folders(world: World, facts: Mapping[str, Fact], key: str) -> tuple[str, ...]:
    """Return the source folders of an editable install: an import hook may hide them from .pth."""
    url, editable = facts.get(f"{key}.direct_url"), facts.get(f"{key}.editable")
    if not (isinstance(url, Known) and isinstance(editable, Known) and editable.value is True):
        return ()
    text = str(url.value)
    if not text.startswith("file://"):
        return ()
    source = real_path(world, text.removeprefix("file://"))
    return source, f"{source}/src"


def real_path(world: World, named: str) -> str:
    """Return the path that `World.name` has named: ``$site/x`` -> ``/opt/venv/lib/.../x``."""
    for marker, root in ROOTS:
        folder = world.target.roots.get(root)
        if folder and re.match(re.escape(marker) + r"(?:[/\\]|$)", named):
            return folder.rstrip("/") + named.removeprefix(marker)
    return named


class _Walk:
    """The folders found so far, by device and inode: symlinked twins count once."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], Folder] = {}
        self.problems: list[str] = []
        self.room = MAX_ALL_NAMES

    def add(self, path: str, *, required: bool = False) -> Folder | None:
        """Append a folder that is there and new; return it, or its twin."""
        identity = self._identity(path, required=required)
        if identity is None or identity in self.found:
            return self.found.get(identity) if identity else None
        if len(self.found) >= MAX_FOLDERS:
            self._tell(f"the import path has more than {MAX_FOLDERS} folders")
            return None
        names, problem = list_names(path, min(MAX_NAMES, self.room))
        self.room -= len(names)
        if problem:
            self._tell(f"{path} {problem}")
        self.found[identity] = Folder(os.path.normpath(path), names)
        return self.found[identity]

    def pth_lines(self, folder: Folder) -> Iterable[str]:
        """Yield the plain paths in a folder's .pth files, in the order of site.py."""
        files = [n for n in folder.names if n.endswith(".pth") and not n.startswith(".")]
        if len(files) > MAX_PTH_FILES:
            self._tell(f"{folder.path} has more than {MAX_PTH_FILES} .pth files")
        for name in files[:MAX_PTH_FILES]:
            text = read_text(Path(folder.path, name), PTH_LIMIT + 1)
            if text is None:
                continue
            lines = text.removeprefix("\ufeff").splitlines()
            if len(text) > PTH_LIMIT or len(lines) > MAX_PTH_LINES:
                self._tell(f"{name} is too long to be followed")
            for line in lines[:MAX_PTH_LINES]:
                if line.strip() and not line.startswith(("#", "import ", "import\t")):
                    yield line.rstrip()

    def _identity(self, path: str, *, required: bool) -> tuple[int, int] | None:
        try:
            found = Path(path).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        except OSError as error:
            if required:
                self._tell(f"{path} cannot be read: {error.strerror}")
            return None
        return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
