"""With which releases of others a release goes, by the table of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.sources.targets.incompatible_pairs import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix


class PairBounds:
    """Those of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix."""
        self.matrix = matrix
        self.packages = frozenset(str(row["package"]) for row in matrix.tables[TABLE].rows)
        self._found: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def take(self, distribution: str, version: str, there: Mapping[str, str]) -> bool:
        """Return whether a release goes with what is there; what nobody has read is no hindrance.

        Pairs that a rule of their own judges are left to it: more than versions decides.
        """
        return all(
            accepts(fits, there.get(other, "")) for other, fits in self.of(distribution, version)
        )

    def of(self, distribution: str, version: str) -> tuple[tuple[str, str], ...]:
        """Return what a release goes with: distribution and range."""
        if distribution not in self.packages or not version:
            return ()
        asked = (distribution, version)
        if asked not in self._found:
            keys = {"package": Known(distribution, "asked"), "version": Known(version, "asked")}
            self._found[asked] = tuple(
                (str(row["beside"]), str(row["fits"]))
                for row in self.matrix.find(TABLE, keys).rows
                if not row.get("rule") and isinstance(row.get("fits"), str)
            )
        return self._found[asked]
