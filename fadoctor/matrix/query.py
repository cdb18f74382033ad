"""Look up rows of the matrix by keys that are themselves facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.matrix.versions import is_in, parse_version, version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown, Value
from fadoctor.model.rule import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row = dict[str, Cell]


class Rows:
    """The rows that match, or the reason why there is none. Ask it for cells."""

    def __init__(self, table: Table, rows: tuple[Row, ...], none: Absent | Unknown | None) -> None:
        self.table = table
        self.rows = rows
        self.none = none
        self._cells: dict[str, Fact] = {}

    def cell(self, column: str) -> Fact:
        """Return one column: Known only where all matching rows agree."""
        if self.none is not None:
            return self.none
        found = self._cells.get(column)
        if found is None:
            found = self._cells[column] = self._agreed(column)
        return found

    def _agreed(self, column: str) -> Fact:
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
        self._indexes: dict[str, Index] = {}
        self._found: dict[tuple[str, ...], Rows] = {}

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
        texts = {name: _text(fact.value) for name, fact in keys.items() if isinstance(fact, Known)}
        asked = (table_name, *texts, *texts.values())
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = self._look_up(table, texts)
        return found

    def _look_up(self, table: Table, texts: Mapping[str, str]) -> Rows:
        index = self._indexes.get(table.table)
        if index is None:
            index = self._indexes[table.table] = Index(table)
        rows = tuple(row for row in index.candidates(texts) if _matches(table, row, texts))
        return Rows(table, rows, None if rows else _no_row(table, texts))


class Index:
    """The rows of a table by the words of its first key that is no range."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.key = next((name for name, kind in table.keys.items() if kind != "range"), "")
        self._places: dict[str, list[int]] = {"*": []}
        for place, row in enumerate(table.rows):
            for word in str(row.get(self.key)).split():
                self._places.setdefault(word, []).append(place)

    def candidates(self, texts: Mapping[str, str]) -> Iterable[Row]:
        """Return the rows that can match, in order; all where that key is not asked for."""
        if self.key not in texts:
            return self.table.rows
        text = _as_asked(self.table.keys[self.key], texts[self.key])
        places = {*self._places.get(text, ()), *self._places["*"]}
        return (self.table.rows[place] for place in sorted(places))


def _no_row(table: Table, values: Mapping[str, str]) -> Absent | Unknown:
    asked = ", ".join(f"{name} {value}" for name, value in values.items())
    source = f"matrix {table.table}"
    if table.complete and all(_can_be_placed(table.keys[n], v) for n, v in values.items()):
        return Absent(f"{source}: nothing for {asked}")
    return Unknown(f"the matrix has no row for {asked}", source)


def _matches(table: Table, row: Row, texts: Mapping[str, str]) -> bool:
    for name, text in texts.items():  # noqa: SIM110 -- asked for every row: a generator costs more
        if not _key_matches(table.keys[name], str(row[name]), text):
            return False
    return True


def _can_be_placed(kind: str, text: str) -> bool:
    """Return whether a missing row means that there is none.

    A pre-release can lie on neither side of a range's bound, and what is no version in no range.
    """
    if kind == "word":
        return True
    version = parse_version(text)
    return version is not None and not version.is_prerelease


def _key_matches(kind: str, words: str, text: str) -> bool:
    if words == "*":
        return True
    if kind == "range":
        return is_in(text, words) is True
    return _as_asked(kind, text) in words.split()


def _as_asked(kind: str, text: str) -> str:
    """Return a key's value as its words are written: a release has no local part."""
    return (version_part(text, "base") or text) if kind == "release" else text


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
