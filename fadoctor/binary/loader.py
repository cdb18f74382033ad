"""The loader of a process: which files it has loaded, and what opening one more would do.

Follows glibc: a breadth-first closure over DT_NEEDED, then versions, then symbols in the order of
relocation. A process is a value; opening works on a copy, as a failed ``dlopen`` leaves nothing.
"""

from __future__ import annotations

import copy
import errno
import posixpath
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.elf import DF_1_NOOPEN, DF_1_PIE, DT_AUXILIARY, DT_NEEDED, Elf
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.header import ET_EXEC, Header, Machine, Refusal, read_header
from fadoctor.binary.reason import NOT_OPENED, UNDECIDED, Reason, ReasonKind
from fadoctor.binary.search import Asker, FoundBy, Search, SearchPath
from fadoctor.binary.symbols import SymbolTable
from fadoctor.binary.versions import NeededVersion, needed_versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.files import Tree

_MAX_OBJECTS = 600
_MAX_PATHS = 50_000
_NOT_FOR_DLOPEN = "shared object cannot be dlopen()ed"
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENAMETOOLONG})


class File:
    """An ELF file, whose tables are read when they are first asked for."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf

    @cached_property
    def symbols(self) -> SymbolTable:
        """Its symbols; BadBinaryError where they cannot be read."""
        return SymbolTable(self.elf, self.needs)

    @cached_property
    def needs(self) -> list[NeededVersion]:
        """The versions that it needs; BadBinaryError where they cannot be read."""
        return needed_versions(self.elf)


class Loaded:
    """An object of a process."""

    def __init__(self, file: File, place: SearchPath, asked_by: Loaded | None) -> None:
        self.file, self.elf = file, file.elf
        self.path, self.origin = place.path, place.origin
        self.asked_by = asked_by
        self.asker = Asker(file.elf, posixpath.dirname(place.path) or "/")
        self.needed: list[Loaded] = []

    def chain(self) -> list[Asker]:
        """Return this object and those that had it loaded, nearest first."""
        found: list[Asker] = []
        one: Loaded | None = self
        while one is not None and len(found) < _MAX_OBJECTS:
            found.append(one.asker)
            one = one.asked_by
        return found


class Opened(msgspec.Struct, frozen=True):
    """What opening an object brought into a process."""

    closure: tuple[Loaded, ...]
    """The object and all it needs, breadth first; those that were there already among them."""
    added: tuple[Loaded, ...]
    problems: tuple[Reason, ...]
    """What stops the loader before it looks at versions, in its order."""


class LoadedFiles:
    """The files that were opened, each once, and what the loader of a machine says to them."""

    def __init__(self, tree: Tree, machine: Machine | None) -> None:
        self._tree, self._machine = tree, machine
        self._known: dict[str, File | Refusal | None] = {}

    def open(self, path: str) -> File | Refusal | None:
        """Return a file, what the loader has against it, or None where there is none."""
        if len(self._known) > _MAX_PATHS:
            return Refusal(ReasonKind.TOO_LARGE, f"more than {_MAX_PATHS} paths are tried")
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> File | Refusal | None:
        try:
            reader = self._tree.open(path)
        except (OSError, ValueError) as error:
            return _refuse(error)
        try:
            header = read_header(reader, self._machine)
            return File(Elf(reader, header)) if isinstance(header, Header) else header
        except BadBinaryError as error:
            return Refusal(ReasonKind.MALFORMED, str(error))
        except OSError as error:
            return Refusal(ReasonKind.UNREADABLE, error.strerror or "")


def _refuse(error: OSError | ValueError) -> Refusal | None:
    code = getattr(error, "errno", errno.ENOENT)
    if code == errno.EACCES:
        return Refusal(ReasonKind.UNREADABLE, "Permission denied", passed_over=True)
    if code in _ABSENT:
        return None
    if code == errno.EISDIR:
        return Refusal(ReasonKind.NOT_ELF, "cannot read file data: Is a directory")
    return Refusal(ReasonKind.UNREADABLE, getattr(error, "strerror", "") or "it cannot be opened")


class Process:
    """Objects of a process, in the order of loading."""

    def __init__(self, files: LoadedFiles, search: Search) -> None:
        self.files, self.search = files, search
        self.objects: list[Loaded] = []
        self.scope: list[Loaded] = []
        """Where every object's symbols are looked for first, in this order."""
        self.at_start = 0
        """How many of the objects were there when the program started; 0 while it does."""
        self._by_name: dict[str, Loaded] = {}
        self._by_identity: dict[tuple[int, int], Loaded] = {}

    def copy(self) -> Process:
        """Return a process with the same objects."""
        other = copy.copy(self)
        for name in ("objects", "scope", "_by_name", "_by_identity"):
            setattr(other, name, copy.copy(getattr(self, name)))
        return other

    def find(self, name: str) -> Loaded | None:
        """Return the object of that soname, path or requested name."""
        return self._by_name.get(name)

    def add(self, file: File, place: SearchPath, asked_by: Loaded | None) -> Loaded:
        """Load one file, without what it needs; a file that is there already stays one object."""
        known = self._by_identity.get(file.elf.reader.identity)
        if known is None:
            known = Loaded(file, place, asked_by)
            self.objects.append(known)
            self._by_identity[file.elf.reader.identity] = known
            if file.elf.soname:
                self._by_name.setdefault(file.elf.soname, known)
        self._by_name.setdefault(place.path, known)
        return known

    def open_path(self, path: str) -> Opened | Reason:
        """Do what ``dlopen`` of a path does up to its closure; the caller's DT_RPATH has no say."""
        known = len(self.objects)
        file = self.files.open(path)
        if not isinstance(file, File):
            return _reason_of(file, path)
        if file.elf.type == ET_EXEC:
            return Reason(
                ReasonKind.NOT_A_LIBRARY, path, detail="cannot dynamically load executable"
            )
        if file.elf.flags_1 & DF_1_PIE:
            words = "cannot dynamically load position-independent executable"
            return Reason(ReasonKind.NOT_A_LIBRARY, path, detail=words)
        if self._is_for_start_only(file):
            return Reason(ReasonKind.NOT_FOR_DLOPEN, path, detail=_NOT_FOR_DLOPEN)
        root = self.add(file, SearchPath(path, FoundBy.PATH), None)
        closure, problems = self.close([root])
        return Opened(tuple(closure), tuple(self.objects[known:]), tuple(problems))

    def close(self, roots: list[Loaded]) -> tuple[list[Loaded], list[Reason]]:
        """Load what objects need, and what that needs; return all of it and what was missing."""
        listed, seen, problems = list(roots), {id(root) for root in roots}, list[Reason]()
        done, at, moves = set[int](), 0, 0
        while at < len(listed):
            one = listed[at]
            at += 1
            if id(one) in done:
                continue
            done.add(id(one))
            needed = []
            for tag, name in one.elf.asked:
                found = self.find(name) or self._load(name, one)
                if isinstance(found, Reason):
                    problems += [] if tag == DT_AUXILIARY else [found]
                    continue
                needed.append(found)
                if tag != DT_NEEDED and _put_before(listed, found, one):
                    at, moves = 0, moves + 1
                elif id(found) not in seen:
                    listed.append(found)
                seen.add(id(found))
            one.needed = needed
            if max(len(listed), moves) > _MAX_OBJECTS:
                text = f"it needs more than {_MAX_OBJECTS} libraries"
                problems.append(Reason(ReasonKind.TOO_LARGE, roots[0].path, detail=text))
                break
        return listed, problems

    def _is_for_start_only(self, file: File) -> bool:
        return bool(self.at_start and file.elf.flags_1 & DF_1_NOOPEN)

    def preload(self, name: str) -> list[Loaded]:
        """Load what LD_PRELOAD names; what cannot be loaded is only mentioned by the loader."""
        found = self.find(name) or self._load(name, self.objects[0])
        return [] if isinstance(found, Reason) else [found]

    def make_global(self, closure: tuple[Loaded, ...] | list[Loaded]) -> None:
        """Put objects into the global scope, as RTLD_GLOBAL does."""
        self.scope += [one for one in closure if one not in self.scope]

    def _load(self, name: str, asker: Loaded) -> Loaded | Reason:
        if "/" in name:
            place = SearchPath(self.search.expand(name, asker.asker.folder), FoundBy.PATH)
            places: Iterator[SearchPath] = iter([place])
        else:
            places = self.search.places(name, asker.chain(), self.objects[0].asker)
        passed_over = None
        tried = False
        for place in places:
            tried = True
            file = self.files.open(place.path)
            if isinstance(file, File):
                if self._is_for_start_only(file):
                    return Reason(ReasonKind.NOT_FOR_DLOPEN, name, name, detail=_NOT_FOR_DLOPEN)
                found = self.add(file, place, asker)
                self._by_name.setdefault(name, found)
                return found
            if file is not None and not file.passed_over:
                return _reason_of(file, place.path, name)
            if file is not None and file.detail:
                passed_over = Reason(file.kind, place.path, name, detail=file.detail)
        return _missing(name, asker, passed_over, tried=tried)


def _put_before(listed: list[Loaded], found: Loaded, one: Loaded) -> bool:
    """Put an object that another is a filter of before it: its symbols are found first."""
    if found in listed[: listed.index(one) + 1]:
        return False
    if found in listed:
        listed.remove(found)
    listed.insert(listed.index(one), found)
    return True


def _missing(name: str, asker: Loaded, passed_over: Reason | None, *, tried: bool) -> Reason:
    """Name what is missing; a file that could not be used shows in the loader's words."""
    if not tried:
        return Reason(ReasonKind.MISSING_SONAME, asker.path, name, detail=NOT_OPENED)
    if passed_over is not None and passed_over.kind in UNDECIDED:
        return passed_over
    detail = passed_over.detail if passed_over is not None else ""
    return Reason(ReasonKind.MISSING_SONAME, asker.path, name, detail=detail)


def _reason_of(file: Refusal | None, path: str, name: str = "") -> Reason:
    if file is None:
        return Reason(ReasonKind.MISSING_FILE, path, name)
    return Reason(file.kind, path, name, detail=file.detail)
