"""Environments in the folders of programs: ComfyUI, webuis and others with a Python of their own.

A program's folder is named, not its environment: so that one is read, and nothing of it is run.
Folders: the README of triton-windows (python_embeded, system/python), the start scripts of
AUTOMATIC1111's and Forge's webui (venv, system/python), of text-generation-webui
(installer_files/env) and of InvokeAI (.venv).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.targets.layout import find_python, is_environment

if TYPE_CHECKING:
    from pathlib import Path

_PLACES = (
    "python_embeded", "python_embedded", ".venv", "venv", "env", "system/python", "python",
    "installer_files/env", "standalone-env", "runtime",
)  # fmt: skip
_AROUND = ("python_embeded", "python_embedded", "system/python")
"""Beside the folder of the program itself: ComfyUI lies next to python_embeded."""


def environments_below(folder: Path) -> list[Path]:
    """Return the environments in a program's folder, the one that its start script uses first."""
    places = [folder / place for place in _PLACES]
    places += [folder.parent / place for place in _AROUND]
    return [place for place in places if is_environment(place) and find_python(place) is not None]
