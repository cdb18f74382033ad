"""Where a finding is shown that lies in no file: services take none without a place."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.model.files import read_file
from fadoctor.model.place import Place

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.finding import Finding

_MANIFESTS = (
    "requirements.txt", "pyproject.toml", "environment.yml", "environment.yaml", "setup.cfg",
    "setup.py", "Pipfile", "uv.lock", "poetry.lock", "pdm.lock", "pixi.toml", "Dockerfile",
)  # fmt: skip
"""Files of a project that name packages, in the order in which they are looked into."""

_NOWHERE = "pyproject.toml"
"""What most projects have: the place of what no file names, in a folder without any file."""

_OTHERS = ("README.md", "README.rst", "README", "README.txt", "setup.cfg", "LICENSE")
_LISTED = 200
"""Entries of a folder that are looked at for a file."""

_LINES, _LINE_LIMIT = 20_000, 2_000
"""How much of a manifest is looked at: lines, and characters of each."""

_SIZE_LIMIT = 8 << 20

_OF_LOG = re.compile(r"(?P<file>.{1,400}):(?P<line>[0-9]{1,9})")


def place_of(finding: Finding, folder: Path) -> Place:
    """Return the line of the log that shows it, or of the manifest that names its package."""
    return find_place(finding, folder)[0]


def find_place(
    finding: Finding, folder: Path, manifests: tuple[str, ...] = ()
) -> tuple[Place, bool]:
    """Return where a finding is shown, and whether its cause is there.

    `manifests`: the files that were examined, where some were; else those of the project.
    """
    for evidence in finding.evidence:
        match = _OF_LOG.fullmatch(evidence.source) if evidence.fact == "log" else None
        if match and (folder / match["file"]).is_file():
            return Place(match["file"], int(match["line"])), True
    return _in_manifest(finding.subject, folder, manifests)


def _in_manifest(subject: str, folder: Path, manifests: tuple[str, ...]) -> tuple[Place, bool]:
    name = "[-_.]".join(map(re.escape, re.split(r"[-_.]+", subject)))
    word = re.compile(rf"(?<![\w.-]){name}(?![\w-])", re.IGNORECASE)
    first = manifests[0] if manifests else ""
    for manifest in manifests or _MANIFESTS:
        lines = _lines(folder / manifest)
        first = first or (manifest if lines else "")
        for number, line in enumerate(lines, 1):
            if word.search(line) and not line.lstrip().startswith("#"):
                return Place(manifest, number), True
    return Place(first or _any_file(folder), 1), False


def _any_file(folder: Path) -> str:
    """Return a file that is there: services do not show a place in one that is not."""
    named = (each for each in _OTHERS if (folder / each).is_file())
    found = next(named, None)
    if found is None:
        with suppress(OSError):
            listed = sorted(each.name for each in islice(folder.iterdir(), _LISTED))
            plain = (each for each in listed if each[0] != "." and (folder / each).is_file())
            found = next(plain, None)
    return found or _NOWHERE


def _lines(path: Path) -> list[str]:
    """Return the beginning of a file, nothing where there is no ordinary file to read."""
    text = read_file(path, _SIZE_LIMIT)
    return [line[:_LINE_LIMIT] for line in text.split("\n")[:_LINES]] if text else []
