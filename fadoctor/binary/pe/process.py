"""What Windows would do with an extension, from files alone: three answers.

True: every library and every symbol of torch and Python that it wants is there. False: one is
surely not. None: a library is in no folder that is known, or a file cannot be read. Only Windows
itself can run what libraries do while they are loaded, so True promises no more than that.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError, TruncatedError
from fadoctor.binary.pe.exports import Exports
from fadoctor.binary.pe.families import DllFamily, family_of_dll
from fadoctor.binary.pe.image import PeImage
from fadoctor.binary.pe.imports import read_imports, read_libraries
from fadoctor.binary.pe.search import DllFolders, DllSearch, FoundDll, FoundIn, file_name
from fadoctor.binary.pe.trouble import UNDECIDED_TROUBLE, DllTrouble, TroubleKind
from fadoctor.binary.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from typing_extensions import Self

MAX_FILES = 400
MAX_TROUBLES = 200
_LEFT_ASIDE = frozenset({DllFamily.PYTHON, DllFamily.DRIVER})
_NOT_CHECKED = frozenset({FoundIn.SYSTEM, FoundIn.INTERFACE})


class WindowsProcess(msgspec.Struct, frozen=True):
    """The Python that opens an extension. Paths are those that this machine can open."""

    machine: str
    """amd64, arm64 or x86; "" if unknown."""
    python: str
    """cp311, cp313t: its library is python311.dll; "" if unknown."""
    folders: DllFolders
    torch: str = ""
    """The folder of the package torch; "" where there is none."""
    may_search_more: bool = False
    """Something in the environment may add folders that are not known here."""


class DllPrediction(msgspec.Struct, frozen=True):
    """What opening a library would do."""

    path: str
    loads: bool | None
    needs_torch: bool = False
    """It is torch that does not load."""
    troubles: tuple[DllTrouble, ...] = ()
    """What is in the way, in order, the certain ones first; at most 200."""
    needed: tuple[str, ...] = ()
    found: tuple[tuple[str, FoundDll], ...] = ()
    """Where each library that it wants itself is."""

    @property
    def unfound(self) -> tuple[str, ...]:
        """The libraries that are in no folder which Windows searches, each once."""
        missing = (t.name for t in self.troubles if t.kind is TroubleKind.MISSING_DLL)
        return tuple(dict.fromkeys(missing))


class DllPredictor:
    """Predicts for one process; files stay open until it is closed."""

    def __init__(self, process: WindowsProcess) -> None:
        self.process = process
        self._files = ExitStack()
        self._images: dict[str, PeImage | DllTrouble] = {}
        self._bare = DllSearch(process.folders)
        self._torch: tuple[DllSearch, tuple[DllTrouble, ...]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self._files.close()

    def predict(
        self, path: str, *, after_torch: bool = True, adds_folders: bool = False
    ) -> DllPrediction:
        """Say what opening a library does, after ``import torch`` or in a bare interpreter.

        `adds_folders`: its package adds folders by itself.
        """
        search = self._bare
        if after_torch and self.process.torch:
            search, troubles = self._import_torch()
            if any(t.kind not in UNDECIDED_TROUBLE for t in troubles):
                return DllPrediction(path, _verdict(troubles), True, troubles)
        visit = _Visit(self, search, adds_folders=adds_folders)
        troubles = _certain_first(visit.load(path, check=True))
        image = self.image(path)
        if isinstance(image, DllTrouble):
            return DllPrediction(path, _verdict(troubles), False, troubles)
        needed = _names(image)
        folder = os.path.dirname(path)  # noqa: PTH120 -- text
        places = ((name, search.find(name, folder)) for name in needed)
        found = tuple((name, place) for name, place in places if place is not None)
        return DllPrediction(path, _verdict(troubles), False, troubles, needed, found)

    def torch_troubles(self) -> tuple[DllTrouble, ...]:
        """Return what is in the way of ``import torch``."""
        return self._import_torch()[1] if self.process.torch else ()

    def image(self, path: str) -> PeImage | DllTrouble:
        """Return an open file, or why the loader does not take it."""
        if path not in self._images:
            self._images[path] = self._open(path)
        return self._images[path]

    def _open(self, path: str) -> PeImage | DllTrouble:
        if len(self._images) >= MAX_FILES:
            return DllTrouble(
                TroubleKind.TOO_LARGE, path, detail=f"more than {MAX_FILES} libraries"
            )
        try:
            image = PeImage(self._files.enter_context(open_source(path)))
        except TruncatedError as error:
            return DllTrouble(TroubleKind.TRUNCATED, path, detail=str(error))
        except BadBinaryError as error:
            is_there = os.path.isfile(path) and os.access(path, os.R_OK)  # noqa: PTH113 -- text
            kind = TroubleKind.NOT_PE if is_there else TroubleKind.UNREADABLE
            return DllTrouble(kind, path, detail=str(error))
        machine = self.process.machine
        if machine and image.header.machine != machine:
            what = f"built for {image.header.machine}, the process is {machine}"
            return DllTrouble(TroubleKind.OTHER_MACHINE, path, detail=what)
        return image

    def _import_torch(self) -> tuple[DllSearch, tuple[DllTrouble, ...]]:
        """Load all of torch/lib, as torch/__init__.py does: with PATH where it fails without."""
        if self._torch is None:
            search = DllSearch(self.process.folders)
            folder = os.path.join(self.process.torch, "lib")  # noqa: PTH118 -- text
            paths = search.libraries(folder)
            search.loaded = {file_name(path.replace("/", "\\")): path for path in paths}
            visit = _Visit(self, search, by_path=True)
            troubles = [t for path in paths for t in visit.load(path, check=False)]
            self._torch = (search, _certain_first(troubles))
        return self._torch

    def is_other_python(self, name: str) -> bool:
        """Whether a library is that of a Python which is not the one here."""
        wanted = self.process.python.removeprefix("cp")
        stem = file_name(name).removesuffix(".dll").removeprefix("python")
        versioned = family_of_dll(name) is DllFamily.PYTHON and len(stem.rstrip("t_d")) > 1
        return bool(wanted) and versioned and stem.removesuffix("_d") != wanted


class _Visit:
    """One library and what it is loaded with."""

    def __init__(
        self,
        owner: DllPredictor,
        search: DllSearch,
        *,
        by_path: bool = False,
        adds_folders: bool = False,
    ) -> None:
        self._owner = owner
        self._search = search
        self._by_path = by_path
        self._surely = search.is_complete and not (adds_folders or owner.process.may_search_more)
        self._seen: set[str] = set()

    def load(self, path: str, *, check: bool) -> list[DllTrouble]:
        """Return what is in the way of a library; its symbols are looked up where `check` says."""
        own_folder = os.path.dirname(path)  # noqa: PTH120 -- text
        found: list[DllTrouble] = []
        waiting = [(path, check)]
        while waiting and len(found) < MAX_TROUBLES:
            at, with_symbols = waiting.pop(0)
            if at in self._seen:
                continue
            self._seen.add(at)
            image = self._owner.image(at)
            if isinstance(image, DllTrouble):
                found.append(image)
                continue
            try:
                for name in read_libraries(image):
                    found += self._wanted(name, at, own_folder, waiting)
                if with_symbols:
                    found += self._procedures(image, at, own_folder)
            except BadBinaryError as error:
                found.append(DllTrouble(TroubleKind.UNREADABLE, at, detail=str(error)))
        return found[:MAX_TROUBLES]

    def _wanted(
        self, name: str, path: str, own_folder: str, waiting: list[tuple[str, bool]]
    ) -> Iterator[DllTrouble]:
        if self._owner.is_other_python(name):
            yield DllTrouble(TroubleKind.OTHER_PYTHON, path, name)
            return
        place = self._search.find(name, own_folder, by_path=self._by_path)
        if place is None:
            # The process holds its Python; that the driver is missing is told apart.
            if family_of_dll(name) not in _LEFT_ASIDE:
                kind = TroubleKind.MISSING_DLL if self._surely else TroubleKind.UNFOUND
                yield DllTrouble(
                    kind, path, name, detail=f"{name} is in no folder that was searched"
                )
        elif place.found_in not in _NOT_CHECKED:
            waiting.append((place.path, False))

    def _procedures(self, image: PeImage, path: str, own_folder: str) -> Iterator[DllTrouble]:
        """Yield the symbols that the libraries lack; those of Windows itself are not looked at."""
        for wanted in read_imports(image):
            place = self._search.find(wanted.library, own_folder, by_path=self._by_path)
            if wanted.is_delayed or place is None or place.found_in in _NOT_CHECKED:
                continue
            provider = self._owner.image(place.path)
            if isinstance(provider, DllTrouble):
                continue
            exports = Exports(provider)
            lacking = [name for name in wanted.names if not exports.has(name)]
            lacking += [f"#{n}" for n in wanted.ordinals if not exports.has_ordinal(n)]
            for name in lacking:
                yield DllTrouble(TroubleKind.MISSING_PROCEDURE, path, name, provider=place.path)


def _names(image: PeImage) -> tuple[str, ...]:
    try:
        return read_libraries(image)
    except BadBinaryError:
        return ()


def _certain_first(troubles: Iterable[DllTrouble]) -> tuple[DllTrouble, ...]:
    ordered = sorted(troubles, key=lambda trouble: trouble.kind in UNDECIDED_TROUBLE)
    return tuple(dict.fromkeys(ordered))[:MAX_TROUBLES]


def _verdict(troubles: Iterable[DllTrouble]) -> bool | None:
    """Return the answer; that a library is in no folder is for Windows alone to prove."""
    kinds = {trouble.kind for trouble in troubles}
    if kinds - UNDECIDED_TROUBLE - {TroubleKind.MISSING_DLL}:
        return False
    return None if kinds else True
