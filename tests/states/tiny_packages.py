"""Wheels with nothing but metadata, made from the tables: what an index would offer a resolver."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.fact import Known
from fadoctor.model.packages import BESIDE_TORCH, RELEASES
from fadoctor.repair.plan.choices.candidates import torch_requires
from fadoctor.repair.plan.choices.indexes import CPU, Indexes
from fadoctor.repair.plan.choices.released import is_in_specifier

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fadoctor.knowledge.matrix.query import Matrix, Row

PLATFORM = "linux_x86_64"
PYPI = "pypi"
NEWEST = "9999"
"""A release of everything that no table has the releases of: what an open range would take."""

_TABLED = {"torch", "triton", *(package.replace("_", "-") for package in RELEASES)}
"""Packages with a table of their own."""

_BROUGHT = {"datasets"}
"""What helpers bring, of which a plan names a release; its own are among those of frameworks."""

_VERSION = re.compile(r"[0-9][0-9A-Za-z.]{0,40}")
_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


class Offer:
    """The folders of one Python: one for PyPI, one for each index with builds of torch."""

    def __init__(self, matrix: Matrix, python: str, folder: Path) -> None:
        self.matrix = matrix
        self.python = python
        self.folder = folder
        self._needed: dict[str, set[str]] = {}
        self._known: set[str] = set()
        """Helpers whose releases are known: of them there is one newer, and one too old."""
        self._torch()
        self._tabled()
        self._helpers()
        self._declared()
        self._others()
        self._sources()

    def place(self, index: str) -> Path:
        """Return the folder that stands for an index, "" for PyPI."""
        return self.folder / (index.rstrip("/").rpartition("/")[2] or PYPI)

    def file(self, url: str) -> Path:
        """Return a wheel that stands for an address, made when it is asked for."""
        name = url.rpartition("/")[2].replace("%2B", "+")
        distribution, version = name.split("-")[:2]
        public = version.partition("+")[0]
        folder = self.folder / "files" / name
        path = folder / f"{distribution}-{public}-py3-none-any.whl"
        if not path.exists():
            needs = {"torch": "", "einops": ""} if distribution == "flash_attn" else {"torch": ""}
            write_wheel(path, distribution.replace("_", "-"), public, needs)
        return path

    def also(self, name: str, version: str, needs: Mapping[str, str]) -> None:
        """Offer what is installed already, if no table knows it."""
        wheel = self.place("") / _wheel_name(name, version)
        if name in self._needed and "+" not in version and not wheel.exists():
            self._write(PYPI, name, version, needs)

    def _torch(self) -> None:
        rows = {
            version: row
            for row in self.matrix.tables["torch-releases"].rows
            if PLATFORM in cell_words(row["platform"])
            for version in cell_words(row["version"])
        }
        for build in self.matrix.tables["torch-builds"].rows:
            if PLATFORM not in cell_words(build["platform"]):
                continue
            for version in cell_words(build["version"]):
                row = rows.get(version, {})
                if self.python not in cell_words(row.get("python")):
                    continue
                needs = torch_requires(row, PLATFORM, self.python)
                for name in cell_words(build["build"]):
                    self._add("torch", version, name, needs)
        self._cpu(rows)

    def _cpu(self, rows: Mapping[str, Row]) -> None:
        """Offer of each torch a CPU build, and every triton everywhere."""
        for version, row in rows.items():
            if self.python in cell_words(row.get("python")):
                self._add("torch", version, CPU, {})
        for row in self.matrix.tables["triton-releases"].rows:
            for version in cell_words(row["version"]):
                for place in self._places():
                    self._write(place, "triton", version, {})

    def _tabled(self) -> None:
        indexes = Indexes(self.matrix)
        for package, (table, columns) in RELEASES.items():
            name = package.replace("_", "-")
            for row in self.matrix.tables[table].rows:
                needs = {
                    dist: str(row[column])
                    for column, dist in columns.items()
                    if isinstance(row.get(column), str)
                }
                needs |= dict.fromkeys(cell_words(row.get("others")), "")
                if package in BESIDE_TORCH and self._lacks_python(row.get("python")):
                    continue
                for version in cell_words(row["version"]):
                    self._add(name, version, PYPI, needs)
                    with_torch = " ".join(cell_words(row.get("with")))
                    for build in self._builds() if package in BESIDE_TORCH else ():
                        if indexes.has(build, with_torch, PLATFORM):
                            self._add(name, version, build, needs)
                for dist, specifier in needs.items():
                    self._needed.setdefault(dist, set()).update(_VERSION.findall(specifier))

    def _helpers(self) -> None:
        """Offer what others require in every release that is known, for the Pythons it is for.

        What they require that no table has the releases of, a plan does not speak of.
        """
        tables = self.matrix.tables
        brought = [row for row in tables["framework-releases"].rows if row["package"] in _BROUGHT]
        rows = [*tables["helper-releases"].rows, *brought]
        spoken_of = _TABLED | {str(row["package"]) for row in rows}
        for row in rows:
            if is_in_specifier(self.python, Known(str(row.get("python") or ">=3"), "table")):
                name = str(row["package"])
                needs = {
                    each.name: str(each.specifier)
                    for each in map(Requirement, cell_words(row.get("requires")))
                    if each.name in spoken_of
                }
                for version in cell_words(row["version"]):
                    self._add(name, version, PYPI, needs | self._library(name, version))
                self._known.add(name)
                for dist, specifier in needs.items():
                    self._needed.setdefault(dist, set()).update(_VERSION.findall(specifier))

    def _declared(self) -> None:
        """Offer what releases declare to require of packages that no table has the releases of.

        A plan names the last release of such a range where it comes along.
        """
        tables = ("declared-requirements", "framework-releases")
        for row in (row for table in tables for row in self.matrix.tables[table].rows):
            for each in map(Requirement, cell_words(row.get("requires"))):
                found = _VERSION.findall(str(each.specifier))
                self._needed.setdefault(each.name, set()).update(found)

    def _library(self, name: str, version: str) -> dict[str, str]:
        """Return the huggingface-hub that transformers requires, which has a table of its own."""
        keys = {"version": Known(version, "test")}
        needs = self.matrix.find("transformers-hub-library", keys).cell("needs")
        if name != "transformers" or not isinstance(needs, Known):
            return {}
        return {"huggingface-hub": str(needs.value)}

    def _sources(self) -> None:
        """Offer of flash-attn what PyPI has, as if it had been compiled here."""
        for row in self.matrix.tables["flash-attn-releases"].rows:
            for version in cell_words(row["version"]):
                self._add("flash-attn", version, PYPI, {"torch": "", "einops": ""})

    def _lacks_python(self, cell: object) -> bool:
        return bool(cell_words(cell)) and self.python not in cell_words(cell)

    def _others(self) -> None:
        """Offer of everything else each version that some range names, and a newest one."""
        below = {str(row["below"]) for row in self.matrix.tables["requirement-bounds"].rows}
        for name, versions in self._needed.items():
            if name not in _TABLED:
                known = () if name in self._known else versions
                for version in {*known, *below, "1.0", NEWEST}:
                    if parse_version(version) is not None:
                        self._write(PYPI, name, version, {})

    def _builds(self) -> list[str]:
        rows = self.matrix.tables["torch-indexes"].rows
        return [str(row["build"]) for row in rows]

    def _places(self) -> tuple[str, ...]:
        return (PYPI, *self._builds())

    def _add(self, name: str, version: str, build: str, needs: Mapping[str, str]) -> None:
        self._write(build, name, version if build == PYPI else f"{version}+{build}", needs)

    def _write(self, place: str, name: str, version: str, needs: Mapping[str, str]) -> None:
        write_wheel(self.folder / place / _wheel_name(name, version), name, version, needs)


def _wheel_name(name: str, version: str) -> str:
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


def write_wheel(path: Path, name: str, version: str, needs: Mapping[str, str]) -> None:
    """Write a wheel that holds its metadata, and nothing else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", metadata(name, version, needs))
        wheel.writestr(f"{info}/WHEEL", _WHEEL)
        wheel.writestr(f"{info}/RECORD", "")


def metadata(name: str, version: str, needs: Mapping[str, str]) -> str:
    """Return the METADATA of a distribution."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {other}{specifier}" for other, specifier in needs.items()]
    return "\n".join(lines) + "\n"
