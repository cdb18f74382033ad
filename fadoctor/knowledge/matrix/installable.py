"""Which releases no installer can install: they require what the index does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.knowledge.matrix.query import Matrix

_TABLE = "not-installable"


def uninstallable(matrix: Matrix, name: str) -> frozenset[str]:
    """Return the releases of a distribution that cannot be installed, on whichever Python."""
    return frozenset(lacking(matrix, name))


def lacking(
    matrix: Matrix, name: str, extras: Collection[str] = (), python: str = ""
) -> dict[str, str]:
    """Return each release of a distribution that cannot be installed, and what it lacks.

    `extras`: those that are asked for; a row with some is about these alone. `python`: the minor
    version; a row that names Pythons is about these.
    """
    table = matrix.tables.get(_TABLE)
    found: dict[str, str] = {}
    for row in table.rows if table is not None else ():
        its, pythons = cell_words(row.get("extras")), row.get("python")
        if name not in cell_words(row["package"]) or (its and set(its).isdisjoint(extras)):
            continue
        if isinstance(pythons, str) and not (python and is_in(python, pythons) is True):
            continue
        found |= dict.fromkeys(cell_words(row["version"]), str(row["lacks"]))
    return found
