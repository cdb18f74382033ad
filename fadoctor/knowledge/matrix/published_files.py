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
        self._come: dict[tuple[str, Version | None], bool | None] = {}
        self._names: frozenset[str] | None = None

    def come(self, name: str, version: str) -> bool | None:
        """Return True for a wheel, False for sources alone, None where there is nothing.

        True too where nobody has read which files there are.
        """
        return self._comes(name, parse_version(version))

    def _comes(self, name: str, version: Version | None) -> bool | None:
        asked = (name, version)
        if asked not in self._come:
            rows = self._of(name).get(version, [])
            has_wheel = not rows or any(map(self._is_for_it, rows))
            has_sources = any(row.get("sdist") is True for row in rows)
            self._come[asked] = True if has_wheel else False if has_sources else None
        return self._come[asked]

    def are_listed(self, name: str) -> bool:
        """Return whether every release of a package is known here, with its files."""
        if self._names is None:
            table = self._matrix.tables.get(BY_PLATFORM)
            rows = table.rows if table is not None else ()
            self._names = frozenset(word for row in rows for word in cell_words(row["package"]))
        return name in self._names

    def has_one_in(self, name: str, specifier: str) -> bool:
        """Return whether some release in a range has a wheel, or nobody knows."""
        # A newer release is likelier to have one.
        found = self._in_range(name, specifier)
        first = next(found, None)
        is_ready = first is None or self._comes(name, first) is True
        return is_ready or any(self._comes(name, each) is True for each in found)

    def has_nothing_in(self, name: str, specifier: str) -> bool:
        """Return whether each release in a range has neither a wheel nor sources."""
        found = list(self._in_range(name, specifier))
        return bool(found) and all(self._comes(name, each) is None for each in found)

    def _in_range(self, name: str, specifier: str) -> Iterator[Version]:
        """Yield the releases in a range, those listed last first; none where not all are known."""
        if not self.are_listed(name):
            return
        allowed = parse_specifier(specifier) if specifier else None
        for version in reversed(self._of(name)):
            if version is not None and (not allowed or version in allowed):
                yield version

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
            for row in _by_package(self._matrix).get(name, ()):
                for version in cell_words(row["version"]):
                    found.setdefault(parse_version(version), []).append(row)
            self._rows[name] = found
        return self._rows[name]


def _by_package(matrix: Matrix) -> dict[str, list[Row]]:
    """Return the rows of both tables by package, for all platforms and Pythons."""
    found: dict[str, list[Row]] | None = matrix.read.get(TABLE)
    if found is None:
        found = matrix.read[TABLE] = {}
        for table in filter(None, map(matrix.tables.get, (TABLE, BY_PLATFORM))):
            for row in table.rows:
                for name in dict.fromkeys(cell_words(row["package"])):
                    found.setdefault(name, []).append(row)
    return found
