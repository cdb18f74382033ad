"""What a package compares by itself while it is imported, as its installed sources have it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.sources.probes.import_path import find_package
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.sources.probes.world import absent, known, read_text, unknown

if TYPE_CHECKING:
    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.import_path import ImportPath
    from fadoctor.sources.probes.world import World

_LIMIT = 1 << 16
_MOST = 100
"""Requirements that are believed."""

# a list of names in brackets; in older releases a text that is split
_LIST = r"(?m)^pkgs_to_check_at_runtime\s?=\s?(?:\[([^\]]{0,4000})\]|\"([^\"]{0,2000})\")"
_WORD = r"[\"']([A-Za-z0-9._-]{1,80})[\"']"
# a line of deps is    "accelerate": "accelerate>=1.1.0",
_ENTRY = (
    r"(?m)^\s{1,8}\"([A-Za-z0-9._-]{1,80})\":\s?\"[A-Za-z0-9._-]{1,80}(?:\[[^\]\"]{0,80}\])?"
    r"([^\";\[]{0,120})\",?$"
)


def import_checks(world: World, path: ImportPath, package: str) -> Fact:
    """Return what transformers compares: name -> specifier, of its table of requirements.

    Absent where its sources have no such table, Unknown where they are written in another way.
    """
    found = find_package(path, package)
    if found is None:
        return absent(f"no folder {package} with sources")
    folder = Path(found.folders[0])
    asked = read_text(folder / "dependency_versions_check.py", _LIMIT)
    table = read_text(folder / "dependency_versions_table.py", _LIMIT)
    source = f"{world.name(folder)}/dependency_versions_table.py"
    if asked is None or table is None:
        return absent(f"{source} is not there")
    listed = re.search(_LIST, asked)
    names = (
        set(re.findall(_WORD, listed[1] or "")) | set((listed[2] or "").split()) if listed else ()
    )
    entries = dict(re.findall(_ENTRY, table)[:_MOST])
    checks = {normalise_name(name): entries[name] for name in sorted(names) if name in entries}
    checks.pop("python", None)
    return known(checks, source) if checks else unknown("it is written in another way", source)
