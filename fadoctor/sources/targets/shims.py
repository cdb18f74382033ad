"""Shims of version managers: small scripts that choose an interpreter when they are started.

Which one depends on variables and on the current folder, so what they stand for is examined.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.probes.interpreter_files import is_file, is_folder, list_folder

if TYPE_CHECKING:
    from pathlib import Path

_MAX_VERSIONS = 200


def is_shim(path: Path) -> bool:
    """Return whether a path is a shim of pyenv: ``~/.pyenv/shims/python3.12``."""
    return path.parent.name == "shims" and is_folder(path.parent.parent / "versions")


def explain_shim(path: Path) -> str:
    """Return what to do about a shim that starts nothing here."""
    versions = list_folder(path.parent.parent / "versions", _MAX_VERSIONS)
    ordered = sorted((entry.name for entry in versions), key=_numbers, reverse=True)
    programs = [path.parent.parent / "versions" / name / "bin" / path.name for name in ordered]
    found = next((program for program in programs if is_file(program)), None)
    what = "a shim of pyenv, and pyenv has chosen no Python for it here"
    if found is None:
        return f"{what}: name the interpreter itself"
    return f"{what}: name the interpreter itself, {found}, or set PYENV_VERSION={found.parts[-3]}"


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,6}", name))
