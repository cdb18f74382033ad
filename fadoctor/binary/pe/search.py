"""Where the loader of Windows looks for a DLL, as Python asks it to since 3.8.

``LoadLibraryExW`` with LOAD_LIBRARY_SEARCH_DEFAULT_DIRS and LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR: what
is loaded already under that name, the folder of the library that is opened, the folder of the
program, folders of ``os.add_dll_directory``, System32. PATH only where torch tries it: for its own
libraries, after the others failed. Microsoft, "Dynamic-link library search order".
"""

from __future__ import annotations

import enum
import ntpath
import os
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.pe.families import DllFamily, family_of_dll

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_NAMES = 40_000
"""Names of one folder; System32 has some five thousand."""
_MAX_FOLDERS = 200


class FoundIn(enum.Enum):
    """How a library is found."""

    LOADED = "loaded already"
    OWN_FOLDER = "its folder"
    PROGRAM = "the program's folder"
    ADDED = "os.add_dll_directory"
    SYSTEM = "System32"
    PATH = "PATH"
    INTERFACE = "Windows"
    """A set of interfaces, not a file."""


class FoundDll(msgspec.Struct, frozen=True):
    """Where a library is."""

    found_in: FoundIn
    path: str = ""


class DllFolders(msgspec.Struct, frozen=True):
    """The folders that Windows searches, as paths that this machine can open."""

    program: str = ""
    """That of the python.exe that runs: of a virtual environment, its base; "" if unknown."""
    added: tuple[str, ...] = ()
    """Those that torch adds."""
    system: str = ""
    """System32; "" if unknown."""
    path: tuple[str, ...] = ()


class DllSearch:
    """Looks for libraries; each folder is listed once."""

    def __init__(self, folders: DllFolders) -> None:
        self._folders = folders
        self._names: dict[str, dict[str, str]] = {}
        self.loaded: dict[str, str] = {}
        """Names in lower case of what the process holds -> their files."""

    @property
    def is_complete(self) -> bool:
        """Whether everything is known where Windows looks: what is not there is missing."""
        return bool(self._listed(self._folders.program) and self._listed(self._folders.system))

    def find(self, name: str, own_folder: str, *, by_path: bool = False) -> FoundDll | None:
        """Return where a library is that one in a folder wants; None where it is nowhere."""
        wanted = file_name(name)
        if family_of_dll(wanted) is DllFamily.SYSTEM:
            return FoundDll(FoundIn.INTERFACE)
        if wanted in self.loaded:
            return FoundDll(FoundIn.LOADED, self.loaded[wanted])
        for found_in, folder in self._order(own_folder, by_path=by_path):
            real = self._listed(folder).get(wanted)
            if real is not None:
                return FoundDll(found_in, os.path.join(folder, real))  # noqa: PTH118 -- text
        return None

    def libraries(self, folder: str) -> list[str]:
        """Return the paths of all libraries in a folder, in order of their names."""
        names = self._listed(folder)
        return [os.path.join(folder, names[n]) for n in sorted(names) if n.endswith(".dll")]  # noqa: PTH118 -- text

    def _order(self, own_folder: str, *, by_path: bool) -> Iterator[tuple[FoundIn, str]]:
        yield FoundIn.OWN_FOLDER, own_folder
        yield FoundIn.PROGRAM, self._folders.program
        for folder in self._folders.added[:_MAX_FOLDERS]:
            yield FoundIn.ADDED, folder
        yield FoundIn.SYSTEM, self._folders.system
        for folder in self._folders.path[:_MAX_FOLDERS] if by_path else ():
            yield FoundIn.PATH, folder

    def _listed(self, folder: str) -> dict[str, str]:
        """Return the names in a folder, in lower case, and as they are written."""
        if not folder:
            return {}
        found = self._names.get(folder)
        if found is None:
            found = {}
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if len(found) >= _MAX_NAMES:
                            break
                        found[entry.name.lower()] = entry.name
            except (OSError, ValueError):
                found = {}
            self._names[folder] = found
        return found


def file_name(name: str) -> str:
    """Return the file that an import names: in lower case, .dll where it has no ending."""
    lower = ntpath.basename(name).lower()
    return lower if "." in lower else f"{lower}.dll"
