"""Environments in the folders of programs: ComfyUI, webuis and others with a Python of their own.

A program's folder is named, not its environment: so that one is read, and nothing of it is run.
Folders: the README of triton-windows (python_embeded, system/python), the start scripts of
AUTOMATIC1111's and Forge's webui (venv, system/python), of text-generation-webui
(installer_files/env) and of InvokeAI (.venv). Managers keep several programs: Stability Matrix
below Data/Packages, Pinokio below api, where a program's own folder is app.
"""

from __future__ import annotations

from pathlib import Path

from fadoctor.sources.probes.interpreter_files import list_folder
from fadoctor.sources.targets.layout import find_python, is_environment

_PLACES = (
    "python_embeded", "python_embedded", ".venv", "venv", "env", "system/python", "python",
    "installer_files/env", "standalone-env", "runtime", "app/env", "app/venv", "app/.venv",
)  # fmt: skip
_AROUND = ("python_embeded", "python_embedded", "system/python", "python")
"""Beside the folder of the program itself: ComfyUI lies next to python_embeded."""


_SHELVES = ("", "Packages", "Data/Packages", "api")
"""Where managers keep programs, each in a folder of its own."""

_PROGRAMS = 40
"""Programs on a shelf that are looked at."""


def programs_below(folder: Path) -> list[Path]:
    """Return the folders of programs with an environment that a manager keeps in a folder."""
    shelves = [folder / shelf for shelf in _SHELVES]
    entries = [each.path for shelf in shelves for each in list_folder(shelf, _PROGRAMS)]
    return sorted(Path(entry) for entry in entries if _holds_one(Path(entry)))


def _holds_one(folder: Path) -> bool:
    return any(is_environment(folder / place) for place in _PLACES)


def environments_below(folder: Path) -> list[Path]:
    """Return the environments in a program's folder, the one that its start script uses first."""
    places = [folder / place for place in _PLACES]
    places += [folder.parent / place for place in _AROUND]
    return [place for place in places if is_environment(place) and find_python(place) is not None]
