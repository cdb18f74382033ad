"""Follow the imports of sets of releases, and note what their files do."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from fadoctor.sources.import_names.child._fadoctor_contracts import RECURSION, follow
from fadoctor.sources.import_names.child._fadoctor_find import Finder
from fadoctor.sources.import_names.child._fadoctor_lazy import python_files
from fadoctor.sources.import_names.child._fadoctor_shipped import digest_of, listing_of
from tools.refresh.shipped.surely import lowered, with_named
from tools.refresh.shipped.trees import Shelf, assume_distributed, stubs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.refresh.shipped.layers import Lines

PYTHON = (3, 11, 0)
"""The Python that is assumed where a module asks for it."""


@dataclass
class Survey:
    """What was read, by distribution and release."""

    shelf: Shelf
    table: Mapping[str, Mapping[str, Any]]
    """The table of modules."""
    files: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    """Distribution -> release -> path, or import structure -> line."""
    _places: dict[tuple[str, str], Path] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    """What does not fit in a set, so that less of it was followed."""

    def add(self, requirements: list[str], beside: dict[str, str]) -> None:
        """Follow what the packages of one set import of each other."""
        sys.setrecursionlimit(RECURSION)
        places = {text.partition("==")[0]: self.shelf.place(text) for text in requirements}
        versions = dict(text.split("==") for text in requirements)
        for place in places.values():
            assume_distributed(place)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            installed = {**dict(stubs(folder / "stubs", beside)), **versions}
            (folder / "kept").mkdir()
            answer = follow(self._request(places, installed, folder))
            self.broken += [f"{each['breaks']}: {each['name']}" for each in answer["broken"]]
            for distribution, place in places.items():
                kept = list((folder / "kept").glob(f"{distribution}-x-*.json"))
                if kept:
                    found = self.files.setdefault(distribution, {})
                    lines = found.setdefault(versions[distribution], {})
                    lines.update(self._lines(json.loads(kept[0].read_bytes()), distribution, place))
                    self._places[distribution, versions[distribution]] = place

    def _request(
        self, places: Mapping[str, Path], installed: dict[str, str], folder: Path
    ) -> dict[str, Any]:
        modules = [
            {"module": module, "next": row["next"]}
            for module, row in self.table.items()
            if row["role"] == "entry" and any(name in places for name in row["distribution"])
        ]
        return {
            "folders": [*map(str, places.values()), str(folder / "stubs")],
            "installed": installed, "table": self.table, "entries": modules, "python": PYTHON,
            "system": "linux", "hooked": False, "variables": [], "cache": str(folder / "kept"),
            "keys": dict.fromkeys(places, "x"), "records": {}, "shipped": "",
        }  # fmt: skip

    def _lines(self, kept: dict[str, Any], distribution: str, place: Path) -> dict[str, bytes]:
        """Return what a release's files do, each under its digest and in the order of paths."""
        codes = {Path(path): code for path, (_, _, code) in kept["files"].items() if code}
        roles = [row["role"] for row in self.table.values() if distribution in row["distribution"]]
        if "entry" in roles:
            codes = with_named(codes, place)
        found = dict(_line(file, place, code) for file, code in codes.items())
        for key, (_, _, names) in kept["lazy"].items():
            prefix, _, folder = key.partition(" ")
            finder = Finder([])
            files = [
                (below, Path(path).stat().st_size)
                for below, path in python_files(folder, "", finder)
            ]
            found[f" {prefix} {listing_of(prefix, files)}"] = _json(names)
        return found

    def complete(self) -> None:
        """Add to each release the files that were followed in another one of its distribution."""
        for distribution, releases in self.files.items():
            wanted = {key.partition(" ")[0] for lines in releases.values() for key in lines}
            for version, lines in releases.items():
                place = self._places[distribution, version]
                there = {key.partition(" ")[0] for key in lines}
                for name in filter(None, wanted - there):
                    code = lowered(place / name)
                    if code is not None:
                        lines.update([_line(place / name, place, code)])

    def lines_of(self, distribution: str) -> dict[str, Lines]:
        """Return the releases of a distribution, newest first, with their lines by digest."""
        found = self.files[distribution]
        return {
            version: {key.rpartition(" ")[2]: line for key, line in sorted(found[version].items())}
            for version in sorted(found, key=Version, reverse=True)
        }


def _line(file: Path, place: Path, code: dict[str, Any]) -> tuple[str, bytes]:
    """Return path and digest of a file, and what it does."""
    return f"{file.relative_to(place)} {digest_of(file.read_bytes())}", _json(code)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
