"""The Python of Windows on disk: which folder runs, whether it is embedded, what compilers need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.sources.probes.interpreter_files import is_file, is_folder, list_folder, read_pyvenv
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from fadoctor.sources.probes.world import Facts, World

_MAX_ENTRIES = 4_000
# python311._pth of an embedded Python, which turns its search for packages off
_EMBEDDED = r"python3\d{0,2}\._pth"
# python311.lib, python3.lib, python313t.lib
_LIBRARY = r"python3\d{1,2}t?\.lib"


def program_folder(world: World) -> str:
    """Return the folder of the python.exe that really runs: a virtual environment starts its base.

    Python's documentation of venv: its python.exe only starts the one that pyvenv.cfg names.
    """
    prefix = world.target.roots.get("prefix", "")
    config = read_pyvenv(prefix) if prefix else None
    if config is not None:
        home = config.get("home", "").replace("\\", "/")
        return str(world.path(home)) if home else ""
    return str(Path(world.target.python).parent) if world.target.python else prefix


def is_embedded(folder: str | Path) -> bool:
    """Whether a folder is an embedded Python, as portable programs have it."""
    names = [entry.name for entry in list_folder(folder, _MAX_ENTRIES)]
    return "python.exe" in names and any(re.fullmatch(_EMBEDDED, name) for name in names)


def windows_python_facts(world: World) -> Facts:
    """Return whether a Python of Windows is embedded, and whether it has what compilers need."""
    names = ("python.embedded", "python.import_library")
    if world.os != "windows":
        return dict.fromkeys(names, absent(f"{world.os} has none"))
    folder = program_folder(world)
    source = world.name(folder) if folder else "pyvenv.cfg"
    if not folder or not is_file(Path(folder, "python.exe")):
        nothing = unknown("its folder cannot be seen", source)
        return dict.fromkeys(names, nothing)
    found: Facts = {"python.embedded": known(is_embedded(folder), source)}
    libs = Path(folder, "libs")
    library = next((e.name for e in list_folder(libs, 100) if re.fullmatch(_LIBRARY, e.name)), "")
    found["python.import_library"] = (
        known(world.name(libs / library), source) if library else absent(f"{source}/libs: none")
    )
    if not is_folder(Path(folder, "include")) and not is_folder(Path(folder, "Include")):
        found["python.headers"] = absent(f"{source}/include is not there")
    return found
