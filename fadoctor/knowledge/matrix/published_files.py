"""Whether a release has a wheel for a platform and a Python, or sources alone, or neither."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_version

if TYPE_CHECKING:
    from packaging.version import Version

    from fadoctor.knowledge.matrix.query import Matrix, Row

TABLE = "wheel-platforms"


class PublishedFiles:
    """Table ``wheel-platforms``, for one platform and one Python."""

    def __init__(self, matrix: Matrix, platform: str, python: str) -> None:
        """Take the platform as ``linux_x86_64`` and the Python as ``3.12``; "" is not known."""
        self._matrix, self._platform, self._python = matrix, platform, python.rstrip("t")

    @cached_property
    def _rows(self) -> dict[tuple[str, Version | None], Row]:
        table = self._matrix.tables.get(TABLE)
        return {
            (name, parse_version(version)): row
            for row in (table.rows if table is not None else ())
            for name in cell_words(row["package"])
            for version in cell_words(row["version"])
        }

    def come(self, name: str, version: str) -> bool | None:
        """Return True for a wheel, False for sources alone, None where there is nothing.

        True too where nobody has read which files there are.
        """
        row = self._rows.get((name, parse_version(version)))
        if row is None:
            return True
        platforms, pythons = cell_words(row.get("platforms")), cell_words(row.get("pythons"))
        is_there = not self._platform or self._platform in platforms
        is_there = is_there and (not self._python or not pythons or self._python in pythons)
        if is_there:
            return True
        return False if row.get("sdist") is True else None
