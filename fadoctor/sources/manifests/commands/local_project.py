"""What a project asks for whose folder a command installs: ``pip install -e .[train]``."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from fadoctor.sources.manifests.commands.reachable_files import ReachableFiles
    from fadoctor.sources.manifests.planned import Manifest

PROJECT_FILES = {
    "pyproject.toml": "fadoctor.sources.manifests.formats.pyproject",
    "setup.cfg": "fadoctor.sources.manifests.formats.setup_cfg",
    "setup.py": "fadoctor.sources.manifests.formats.setup_py",
}
"""File -> the module that reads it, in the order in which a build looks at them."""

# .[train,eval]  ./server  /app/server[all]
_FOLDER = re.compile(
    r"(?P<folder>[\w./~-]{1,200}?)/?(?:\[(?P<extras>[\w., -]{1,200})\])?", re.ASCII
)
_SAYS_NEEDS = re.compile(r"^\s{0,8}\[(?:project|tool\.poetry)\]", re.MULTILINE)
"""In a pyproject.toml: it names what the project needs. Others only say how it is built."""


def folder_of(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder and the extras that a word asks for; no folder where it names a file."""
    found = _FOLDER.fullmatch(text.strip("\"'").removeprefix("file:"))
    if found is None or found["folder"].endswith((".whl", ".gz", ".zip", ".bz2", ".tgz")):
        return "", ()
    extras = filter(None, map(str.strip, (found["extras"] or "").split(",")))
    return found["folder"], tuple(map(normalise_name, extras))


def read_project(
    files: ReachableFiles, folders: tuple[str, ...], extras: tuple[str, ...], installer: str
) -> Manifest | None:
    """Return what the project in the first of some folders asks for; None where none is there.

    `installer`: as in ManifestRequest.
    """
    choice = ManifestRequest(extras, installer=installer)
    for folder in folders:
        for name, module in PROJECT_FILES.items():
            try:
                source = files.read(f"{folder}/{name}" if folder not in ("", ".") else name)
                if name == "pyproject.toml" and _SAYS_NEEDS.search(source.text) is None:
                    continue
                reader = import_module(module)
                found: Manifest = reader.read(msgspec.structs.replace(source, choice=choice))
            except InputError:
                continue
            return found
    return None
