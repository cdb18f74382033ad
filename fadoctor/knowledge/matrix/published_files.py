"""Whether a release has a wheel for a platform and a Python, or sources alone, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in, parse_specifier, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.version import Version

    from fadoctor.knowledge.matrix.query import Matrix, Row

TABLE = "wheel-platforms"
BY_PLATFORM = "compiled-files"
"""Where each platform has Pythons of its own; of its packages every release is there."""
_NOWHERE = "none"
"""The platform of a release that has sources alone."""


class PublishedFiles:
    """Tables ``wheel-platforms`` and ``compiled-files``, for one platform and one Python."""

    def __init__(self, matrix: Matrix, platform: str, python: str) -> None:
        """Take the platform as ``linux_x86_64`` and the Python as ``3.12``; "" is not known."""
        self._matrix, self._platform, self._python = matrix, platform, python.rstrip("t")
        self._rows: dict[str, dict[Version | None, list[Row]]] = {}
        self._names: frozenset[str] | None = None

    def come(self, name: str, version: str) -> bool | None:
        """Return True for a wheel, False for sources alone, None where there is nothing.

        True too where nobody has read which files there are.
        """
        rows = self._of(name).get(parse_version(version), [])
        if not rows or any(map(self._is_for_it, rows)):
            return True
        return False if any(row.get("sdist") is True for row in rows) else None

    def are_listed(self, name: str) -> bool:
        """Return whether every release of a package is known here, with its files."""
        if self._names is None:
            rows = self._table(BY_PLATFORM)
            self._names = frozenset(word for row in rows for word in cell_words(row["package"]))
        return name in self._names

    def has_one_in(self, name: str, specifier: str) -> bool:
        """Return whether some release in a range has a wheel, or nobody knows."""
        found = self._comes_of(name, specifier)
        return not found or True in found

    def has_nothing_in(self, name: str, specifier: str) -> bool:
        """Return whether each release in a range has neither a wheel nor sources."""
        return self._comes_of(name, specifier) == {None}

    def _comes_of(self, name: str, specifier: str) -> set[bool | None]:
        """Return what comes of the releases in a range; nothing where not all are known."""
        if not self.are_listed(name):
            return set()
        allowed = parse_specifier(specifier) if specifier else None
        found = [v for v in self._of(name) if v is not None and (not allowed or v in allowed)]
        return {self.come(name, str(version)) for version in found}

    def _is_for_it(self, row: Row) -> bool:
        """Return whether the files of a row are for the platform and the Python."""
        platforms = cell_words(row.get("platforms", row.get("platform")))
        if _NOWHERE in platforms or (self._platform and self._platform not in platforms):
            return False
        pythons = cell_words(row.get("pythons", row.get("python")))
        return not self._python or not pythons or any(map(self._is_among, pythons))

    def _is_among(self, word: str) -> bool:
        """Return whether the Python is one that a word of a cell names: 3.12, or >=3.9."""
        return word == self._python or (word[0] == ">" and is_in(self._python, word) is True)

    def _of(self, name: str) -> dict[Version | None, list[Row]]:
        """Return the rows of a package by its releases."""
        if name not in self._rows:
            found: dict[Version | None, list[Row]] = {}
            for row in (*self._table(TABLE), *self._table(BY_PLATFORM)):
                if name in cell_words(row["package"]):
                    for version in cell_words(row["version"]):
                        found.setdefault(parse_version(version), []).append(row)
            self._rows[name] = found
        return self._rows[name]

    def _table(self, name: str) -> Iterator[Row]:
        table = self._matrix.tables.get(name)
        return iter(table.rows if table is not None else ())
