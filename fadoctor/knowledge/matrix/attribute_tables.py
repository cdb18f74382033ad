"""What tables say of an attribute that an object lacks: which releases of its class have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.name_tables import GIVEN, MissingName, NameTables, releases_read
from fadoctor.model.fact import Known, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Rows

ATTRIBUTES, BASES, INSTEAD = "names-attributes", "names-bases", "names-instead"
"""Which releases of a class have an attribute; what classes inherit from; what took its place."""
ARGUMENTS = "names-arguments"
"""Which releases of a class accept an argument where an object is made."""


class AttributeTables(NameTables):
    """What the tables know of one attribute of one class, by its own name or by that of a base.

    With the table `ARGUMENTS` it is an argument.
    """

    def __init__(
        self,
        matrix: Matrix,
        owner: str,
        name: str,
        version: Callable[[str], str],
        table: str = ATTRIBUTES,
    ) -> None:
        """Take the matrix with the tables that are compiled apart, the class and the attribute."""
        self._owner, self._name = owner, name
        self._rows = _first(matrix, table, owner, name)
        package = self._rows.cell("package")
        modules = {str(row["package"]): top for top, row in releases_read(matrix).items()}
        top = modules.get(str(package.value), "") if isinstance(package, Known) else ""
        super().__init__(matrix, MissingName(top, name), "", version)
        if top in self.read:
            row = self.read[top]
            self.read = {**self.read, top: {**row, "last": row.get("attributes") or row["last"]}}

    def facts(self) -> dict[str, Value]:
        """Return what is known, by short names, and what is used in its place."""
        if self._rows.none is not None:
            return {}
        instead = _first(self.matrix, INSTEAD, self._owner, self._name).cell("instead")
        more = {"instead": instead.value} if isinstance(instead, Known) else {}
        return {**super().facts(), **more}

    def _find(self, table: str, wanted: MissingName | None = None, **more: str) -> Rows:
        return self._rows if table == GIVEN else super()._find(table, wanted, **more)

    def _askers(self) -> Iterator[tuple[str, str, str]]:
        """Yield nobody: of attributes nobody knows who asks."""
        yield from ()


def _first(matrix: Matrix, table: str, owner: str, name: str) -> Rows:
    """Return the rows of the nearest class that has any; none where none has."""

    def found(each: str) -> Rows:
        return matrix.find(table, {"class": Known(each, "asked"), "name": Known(name, "asked")})

    rows = (found(each) for each in matrix.lineage(BASES, owner))
    return next((each for each in rows if each.none is None), found(owner))
