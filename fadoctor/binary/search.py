"""Where the loader looks for a library, in its order.

The order is that of glibc's ``_dl_map_object``: DT_RPATH of the object that asks, of those that
loaded it and of the executable (all of it only where the one that asks has no DT_RUNPATH), then
LD_LIBRARY_PATH, DT_RUNPATH of the one that asks, ld.so.cache, the folders that are built in. Before
each folder come those below it that are for this processor.
"""

from __future__ import annotations

import enum
import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.capability_folders import capability_folders
from fadoctor.binary.elf import DF_1_NODEFLIB, Elf
from fadoctor.binary.header import Machine
from fadoctor.binary.ld_cache import LD_CACHE, LD_CACHE_LIMIT, LdCache
from fadoctor.binary.processor import Processor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.binary.files import Tree

_MAX_FOLDERS = 200
_CHECKS_LEVEL = b"CPU ISA level is lower than required"
_TRIPLET = {Machine.X86_64: "x86_64-linux-gnu", Machine.AARCH64: "aarch64-linux-gnu"}
# $ORIGIN/lib, ${LIB}; not $LIBRARY, as glibc's is_dst has it
_VARIABLE = r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))"


class FoundBy(enum.Enum):
    """How a file was found."""

    EXECUTABLE = "executable"
    INTERPRETER = "interpreter"
    """The loader itself."""
    PATH = "path"
    """It was asked for by a path."""
    RPATH = "rpath"
    LD_LIBRARY_PATH = "ld-library-path"
    RUNPATH = "runpath"
    LD_CACHE = "ld-so-cache"
    DEFAULT = "default-folder"


class Asker(msgspec.Struct, frozen=True):
    """Who asks for a library: an object, and those that had it loaded, nearest first."""

    elf: Elf
    folder: str
    """Its $ORIGIN."""


class SearchPath(msgspec.Struct, frozen=True):
    """A path to try."""

    path: str
    origin: FoundBy


class SearchSurroundings(msgspec.Struct, frozen=True):
    """What does not depend on who asks."""

    machine: Machine
    executable_folder: str
    library_path: str
    working_folder: str
    processor: Processor
    loader: bytes
    """The loader's own file."""


class Search:
    """The loader's search in one process."""

    def __init__(self, tree: Tree, around: SearchSurroundings) -> None:
        self._tree, self._around = tree, around
        self.machine, self.processor = around.machine, around.processor
        self.checks_level = _CHECKS_LEVEL in around.loader
        """Whether this loader refuses what is made for a newer processor; old ones do not."""
        self.asked_processor = False
        """Whether the processor had a say in any answer."""
        self._capable = capability_folders(around.processor, around.loader)
        self._there: dict[str, list[str]] = {}
        self._folders: dict[tuple[str, str], list[str]] = {}
        triplet = _TRIPLET[around.machine]
        multiarch = tree.is_folder(f"/lib/{triplet}") or tree.is_folder(f"/usr/lib/{triplet}")
        self._lib = f"lib/{triplet}" if multiarch else "lib64"
        pairs = [(f"/{self._lib}", f"/usr/{self._lib}"), ("/lib", "/usr/lib")]
        self._default = [folder for pair in pairs for folder in pair]
        text = around.library_path.replace(";", ":")
        self._library_path = self.folders(text, around.executable_folder)
        self._cache: LdCache | None = None

    def places(self, name: str, chain: Sequence[Asker], executable: Asker) -> Iterator[SearchPath]:
        """Yield the paths where a library without slash in its name may be; all may be missing."""
        asker = chain[0]
        if not asker.elf.runpath:
            askers = [*chain, *([] if executable in chain else [executable])]
            for one in askers:
                yield from self._in(self.folders(one.elf.rpath, one.folder), name, FoundBy.RPATH)
        yield from self._in(self._library_path, name, FoundBy.LD_LIBRARY_PATH)
        yield from self._in(self.folders(asker.elf.runpath, asker.folder), name, FoundBy.RUNPATH)
        no_default = asker.elf.flags_1 & DF_1_NODEFLIB
        cached = self._cached(name)
        if cached and not (no_default and self._is_default(cached)):
            yield SearchPath(cached, FoundBy.LD_CACHE)
        if not no_default:
            yield from self._in(self._default, name, FoundBy.DEFAULT)

    def folders(self, paths: str, origin: str) -> list[str]:
        """Return the folders of a path list; an empty one is the working folder."""
        found = self._folders.get((paths, origin))
        if found is None:
            found = self._folders[paths, origin] = self._split(paths, origin) if paths else []
        return found

    def _split(self, paths: str, origin: str) -> list[str]:
        found = []
        for text in paths.split(":")[:_MAX_FOLDERS]:
            folder = self.expand(text, origin) or "."
            if not folder.startswith("/"):
                if not self._around.working_folder:
                    continue
                folder = posixpath.join(self._around.working_folder, folder)
            found.append(folder.rstrip("/") or "/")
        return found

    def expand(self, text: str, origin: str) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM."""
        if "$" not in text:
            return text
        self.asked_processor |= "PLATFORM" in text
        values = {"ORIGIN": origin, "LIB": self._lib, "PLATFORM": self.processor.platform}
        return re.sub(_VARIABLE, lambda found: values[found[1] or found[2]], text)

    def _in(self, folders: list[str], name: str, origin: FoundBy) -> Iterator[SearchPath]:
        for folder in folders:
            there = self._there.get(folder)
            if there is None:
                there = self._there[folder] = self._with_capable(folder)
            for one in there:
                yield SearchPath(f"{one.rstrip('/')}/{name}", origin)

    def _with_capable(self, folder: str) -> list[str]:
        """Return a folder that is there, behind those below it that are for this processor."""
        is_folder = self._tree.is_folder
        if not is_folder(folder):
            return []
        capable = self._capable.below(folder.rstrip("/"), is_folder)
        self.asked_processor |= bool(capable)
        return [*capable, folder]

    def _is_default(self, path: str) -> bool:
        return path.startswith(tuple(f"{folder}/" for folder in self._default))

    def _cached(self, name: str) -> str:
        if self._cache is None:
            data = self._tree.read(LD_CACHE, LD_CACHE_LIMIT)
            self._cache = LdCache(data, self.machine)
        entries = self._cache.find(name)
        self.asked_processor |= len(entries) > 1
        return self._capable.choose(entries, self.processor.level)
