"""Look up rows of the matrix by keys that are themselves facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.matrix.versions import is_in, parse_version, version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown, Value
from fadoctor.model.rule import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Cell]


class Rows:
    """The rows that match, or the reason why there is none. Ask it for cells."""

    def __init__(self, table: Table, rows: tuple[Row, ...], none: Absent | Unknown | None) -> None:
        self.table = table
        self.rows = rows
        self.none = none

    def cell(self, column: str) -> Fact:
        """Return one column: Known only where all matching rows agree."""
        if self.none is not None:
            return self.none
        source = f"matrix {self.table.table}"
        kind = self.table.columns.get(column, "text")
        cells = [typed_cell(row.get(column), kind) for row in self.rows]
        if any(cell != cells[0] for cell in cells):
            return Unknown(f"rows of the matrix disagree about {column}", source)
        if any(row.get("verified") == "unverified" for row in self.rows):
            return Unknown(f"{column} is not verified", source)
        first = cells[0]
        if first is None:
            return Absent(f"{source} has no {column} there")
        if isinstance(first, dict) and list(first) == ["unknown"]:
            return Unknown(first["unknown"], source)
        return Known(first, source)


def typed_cell(cell: Cell, kind: str) -> Value | None:
    """Return a cell as its column's type: lists may be written as words."""
    words: Any = cell.split() if kind == "list" and isinstance(cell, str) else cell
    return tuple(words) if isinstance(words, (list, tuple)) else cell


class Matrix:
    """All tables, with queries."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables

    def find(self, table_name: str, keys: Mapping[str, Fact]) -> Rows:
        """Return the rows of a table that match all keys.

        A key that is Absent makes every cell Absent, one that is Unknown makes it Unknown, and
        Known keys without a row make it Unknown, or Absent where the table is complete.
        """
        table = self.tables[table_name]
        for name, fact in keys.items():
            if isinstance(fact, Unknown):
                return Rows(table, (), fact)
            if isinstance(fact, Absent):
                return Rows(table, (), Absent(f"{name} is absent: {fact.source}"))
        values = {name: fact.value for name, fact in keys.items() if isinstance(fact, Known)}
        rows = tuple(row for row in table.rows if _matches(table, row, values))
        if rows:
            return Rows(table, rows, None)
        return Rows(table, (), _no_row(table, values))


def _no_row(table: Table, values: Mapping[str, Value]) -> Absent | Unknown:
    asked = ", ".join(f"{name} {value}" for name, value in values.items())
    source = f"matrix {table.table}"
    if table.complete and all(_can_be_placed(table.keys[n], v) for n, v in values.items()):
        return Absent(f"{source}: nothing for {asked}")
    return Unknown(f"the matrix has no row for {asked}", source)


def _matches(table: Table, row: Row, values: Mapping[str, Value]) -> bool:
    return all(_key_matches(table.keys[name], row[name], value) for name, value in values.items())


def _can_be_placed(kind: str, value: Value) -> bool:
    """Return whether a missing row means that there is none.

    A pre-release can lie on neither side of a range's bound, and what is no version in no range.
    """
    if kind == "word":
        return True
    version = parse_version(str(value))
    return version is not None and not version.is_prerelease


def _key_matches(kind: str, cell: Cell, value: Value) -> bool:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    words = str(cell)
    if words == "*":
        return True
    if kind == "range":
        return is_in(text, words) is True
    if kind == "release":
        text = version_part(text, "base") or text
    return text in words.split()
