"""Releases of the packages without a table of their own, as a resolver finds them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.requirement_parser import asked_for
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.choices.released import is_in_specifier
from fadoctor.repair.plan.choices.wheel_facts import known

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix, Row


TABLE = "helper-releases"


class _Release(msgspec.Struct, frozen=True):
    version: str
    requires: dict[str, str]


class HelperReleases:
    """That table, for one Python."""

    def __init__(self, matrix: Matrix, python: str) -> None:
        """Take the matrix, and the Python as ``3.12``, "" where it is not known."""
        self._matrix, self._python = matrix, python.rstrip("t")

    @staticmethod
    def of_matrix(matrix: Matrix, python: str) -> HelperReleases:
        """Return those of a matrix for a Python, which all that read it share."""
        asked = (HelperReleases, python)
        if asked not in matrix.read:
            matrix.read[asked] = HelperReleases(matrix, python)
        found: HelperReleases = matrix.read[asked]
        return found

    @cached_property
    def _all(self) -> dict[str, dict[str, _Release]]:
        """Return package -> version -> release; none where the Python is not known."""
        tables = map(self._matrix.tables.get, (TABLE, "numpy-releases"))
        names = {name: package for package, each in PACKAGES.items() for name in each}
        found: dict[str, dict[str, _Release]] = {}
        for row in (row for table in tables if table is not None for row in table.rows):
            package = names.get(str(row["package"]))
            if package and row.get("sparse") is not True and self._admits(row):
                needs = _requires(row)
                found.setdefault(package, {}).update(
                    {version: _Release(version, needs) for version in cell_words(row["version"])}
                )
        return found

    def _admits(self, row: Row) -> bool:
        pythons = row.get("python")
        if not isinstance(pythons, str):
            return bool(self._python)
        return bool(self._python) and is_in_specifier(self._python, known(pythons))

    def excludes(self, package: str, version: str) -> bool:
        """Return whether a release is listed, and not for this Python."""
        name = PACKAGES[package][0]
        table = self._matrix.tables.get(TABLE)
        own = [
            row
            for row in (table.rows if table is not None and self._python else ())
            if row["package"] == name and version in cell_words(row["version"])
        ]
        return bool(own) and not any(map(self._admits, own))

    def has(self, package: str) -> bool:
        """Return whether the table has releases of a package for this Python."""
        return package in self._all

    def of(self, package: str) -> tuple[str, ...]:
        """Return the releases of a package, newest first."""
        return tuple(sorted(self._all.get(package, {}), key=version_key, reverse=True))

    def requires(self, package: str, version: str) -> dict[str, str]:
        """Return what a release requires that the table knows: there may be more."""
        release = self._all.get(package, {}).get(version)
        return release.requires if release is not None else {}


def _requires(row: Row) -> dict[str, str]:
    """Return what an installer looks at: not what stands in an extra."""
    own = [] if row.get("in_extra") is True else cell_words(row.get("requires"))
    found = map(asked_for, (*own, *cell_words(row.get("also"))))
    return {each.name: each.specifier for each in found if each is not None}
