"""Which releases of others a release can be imported with, by the names that it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import BY_NAMES, import_bounds
from fadoctor.repair.plan.choices.released import accepts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix


class NameBounds:
    """Those of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix."""
        self.matrix = matrix
        rows = matrix.tables[BY_NAMES].rows if BY_NAMES in matrix.tables else ()
        self.packages = frozenset(str(row["package"]) for row in rows)
        self._found: dict[tuple[str, str], dict[str, str]] = {}

    def of(self, distribution: str, version: str) -> dict[str, str]:
        """Return what goes with a release: distribution -> specifier; nothing of one not read."""
        if distribution not in self.packages or not version:
            return {}
        asked = (distribution, version)
        if asked not in self._found:
            self._found[asked] = import_bounds(distribution, version, self.matrix)
        return self._found[asked]

    def take(self, distribution: str, version: str, there: Mapping[str, str]) -> bool:
        """Return whether a release can be imported beside what is there."""
        bounds = self.of(distribution, version)
        return all(accepts(fits, there.get(other, "")) for other, fits in bounds.items())
