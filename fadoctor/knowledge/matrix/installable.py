"""Which releases no installer can install: they require what the index does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix


def uninstallable(matrix: Matrix, name: str) -> frozenset[str]:
    """Return the releases of a distribution that cannot be installed."""
    table = matrix.tables.get("not-installable")
    return frozenset(
        version
        for row in (table.rows if table is not None else ())
        if name in str(row["package"]).split()
        for version in str(row["version"]).split()
    )
