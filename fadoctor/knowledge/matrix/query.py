"""Look up rows of the matrix by keys that are themselves facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.versions import is_in, parse_version, version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown, Value
from fadoctor.model.rule import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

Row = dict[str, Cell]


class Rows:
    """The rows that match, or the reason why there is none. Ask it for cells."""

    def __init__(self, table: Table, rows: tuple[Row, ...], none: Absent | Unknown | None) -> None:
        self.table = table
        self.rows = rows
        self.none = none
        self._cells: dict[str, Fact] = {}
        self._having: dict[tuple[str, str], Rows] = {}

    def cell(self, column: str) -> Fact:
        """Return one column: Known only where all matching rows agree."""
        if self.none is not None:
            return self.none
        found = self._cells.get(column)
        if found is None:
            found = self._cells[column] = self._agreed(column)
        return found

    def having(self, key: str, word: str) -> Rows:
        """Return those of the rows that have a word in a key which was not asked for."""
        found = self._having.get((key, word))
        if found is None:
            rows = tuple(row for row in self.rows if {word, "*"} & set(str(row[key]).split()))
            none = None if rows else self.none or _no_row(self.table, {key: word})
            found = self._having[key, word] = Rows(self.table, rows, none)
        return found

    def _agreed(self, column: str) -> Fact:
        source = f"matrix {self.table.table}"
        kind = self.table.columns.get(column, "text")
        if any(column not in row for row in self.rows):
            return Unknown(f"{source} does not say {column} there", source)
        first = typed_cell(self.rows[0][column], kind)
        if any(typed_cell(row[column], kind) != first for row in self.rows[1:]):
            return Unknown(f"the tables disagree about {column}", source)
        if any(row.get("verified") == "unverified" for row in self.rows):
            return Unknown(f"{column} is not verified", source)
        if first is None:
            return Absent(f"{source} has no {column} there")
        if isinstance(first, dict) and list(first) == ["unknown"]:
            return Unknown(first["unknown"], source)
        return Known(first, source)


def typed_cell(cell: Cell, kind: str) -> Value | None:
    """Return a cell as its column's type: lists may be written as words."""
    words: Any = cell.split() if kind == "list" and isinstance(cell, str) else cell
    return tuple(words) if isinstance(words, (list, tuple)) else cell


def cell_words(cell: object) -> tuple[str, ...]:
    """Return the words of a cell that holds some, as words or as a list; none of any other."""
    if isinstance(cell, str):
        return tuple(cell.split())
    return tuple(map(str, cell)) if isinstance(cell, (list, tuple)) else ()


def words_of(table: Table, column: str) -> frozenset[str]:
    """Return the words of a column of all rows; they hang on the table, and are read once."""
    hanging, name = table.__dict__, f"words of {column}"
    if name not in hanging:
        hanging[name] = frozenset(word for row in table.rows for word in cell_words(row[column]))
    found: frozenset[str] = hanging[name]
    return found


class Matrix:
    """All tables, with queries."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables
        self._indexes: dict[str, Index] = {}
        self.read: dict[Hashable, Any] = {}
        """What readers of the tables keep for the next question: by the reader, what it read."""

    def find(self, table_name: str, keys: Mapping[str, Fact]) -> Rows:
        """Return the rows of a table that match all keys.

        A key that is Absent makes every cell Absent, one that is Unknown makes it Unknown, and
        Known keys without a row make it Unknown, or Absent where the table is complete.
        """
        index = self._indexes.get(table_name)
        if index is None:
            index = self._indexes[table_name] = Index.of(self.tables[table_name])
        texts = []
        for name, fact in keys.items():
            if isinstance(fact, Known):
                value = fact.value
                texts.append(value if isinstance(value, str) else _text(value))
            elif isinstance(fact, Absent):
                return Rows(index.table, (), Absent(f"{name} is absent: {fact.source}"))
            else:
                return Rows(index.table, (), fact)
        return index.find((*keys, *texts))

    def lineage(self, table_name: str, name: str) -> Iterator[str]:
        """Yield a name, and then those that a table of one key and one column gives to it."""
        yield name
        [key], [column] = self.tables[table_name].keys, self.tables[table_name].columns
        others = self.find(table_name, {key: Known(name, "asked")}).cell(column)
        if isinstance(others, Known) and isinstance(others.value, tuple):
            yield from others.value


ANSWERS_KEPT = 4096
"""Answers that an index remembers; an environment asks a table some dozen questions."""


class Index:
    """The rows of a table by the words of its first key that is no range, and what was answered."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._answers: dict[tuple[str, ...], Rows] = {}
        self._first = next((name for name, kind in table.keys.items() if kind != "range"), "")
        self._places: dict[str, list[int]] = {"*": []}
        self._keys: dict[int, dict[str, Key]] = {}
        for place, row in enumerate(table.rows):
            for word in str(row.get(self._first)).split():
                self._places.setdefault(word, []).append(place)

    @staticmethod
    def of(table: Table) -> Index:
        """Return the index of a table. It hangs on the table, which never changes."""
        hanging = vars(table)
        found: Index | None = hanging.get("index")
        if found is None:
            found = hanging["index"] = Index(table)
        return found

    def __len__(self) -> int:
        """Return how many answers are remembered."""
        return len(self._answers)

    def names(self, word: str) -> bool:
        """Return whether some row names a word in the first key."""
        return word in self._places

    def find(self, asked: tuple[str, ...]) -> Rows:
        """Return the rows for some keys with their values: first the names, then the texts."""
        found = self._answers.get(asked)
        if found is None:
            if len(self._answers) >= ANSWERS_KEPT:
                self._answers.clear()
            half = len(asked) // 2
            found = self._answers[asked] = self._look_up(asked[:half], asked[half:])
        return found

    def _look_up(self, names: tuple[str, ...], values: tuple[str, ...]) -> Rows:
        texts = dict(zip(names, values, strict=True))
        rows = self.matching(texts)
        return Rows(self.table, rows, None if rows else _no_row(self.table, texts))

    def matching(self, texts: Mapping[str, str]) -> tuple[Row, ...]:
        """Return the rows that match all keys asked for, in order."""
        kinds = self.table.keys
        asked = {name: _as_asked(kinds[name], texts[name]) for name in self._cheapest(texts)}
        rows = self.table.rows
        return tuple(rows[p] for p in self._candidates(asked) if self._matches(p, asked))

    def _cheapest(self, names: Iterable[str]) -> list[str]:
        """Return the keys, words before ranges: comparing versions costs a hundred times more."""
        return sorted(names, key=lambda name: self.table.keys[name] == "range")

    def _candidates(self, asked: Mapping[str, str]) -> Iterable[int]:
        """Return the places of the rows that can match; all where the first key is not asked."""
        if self._first not in asked:
            return range(len(self.table.rows))
        return sorted({*self._places.get(asked[self._first], ()), *self._places["*"]})

    def _matches(self, place: int, asked: Mapping[str, str]) -> bool:
        keys = self._keys.get(place)
        if keys is None:
            row = self.table.rows[place]
            kinds = self.table.keys
            keys = {name: _key(kinds[name], str(row[name])) for name in kinds if name in row}
            self._keys[place] = keys
        for name, text in asked.items():
            key = keys[name]
            if isinstance(key, str):
                if is_in(text, key) is not True:
                    return False
            elif key is not None and text not in key:
                return False
        return True


Key = frozenset[str] | str | None
"""What a row wants of a key: one of some words, a range, or anything."""


def _key(kind: str, words: str) -> Key:
    if words == "*":
        return None
    return words if kind == "range" else frozenset(words.split())


def _no_row(table: Table, values: Mapping[str, str]) -> Absent | Unknown:
    asked = ", ".join(f"{name} {value}" for name, value in values.items())
    source = f"matrix {table.table}"
    if table.complete and all(_can_be_placed(table.keys[n], v) for n, v in values.items()):
        return Absent(f"{source}: nothing for {asked}")
    return Unknown(f"the tables have no row for {asked}", source)


def _can_be_placed(kind: str, text: str) -> bool:
    """Return whether a missing row means that there is none.

    A pre-release can lie on neither side of a range's bound, and what is no version in no range.
    """
    if kind == "word":
        return True
    version = parse_version(text)
    return version is not None and not version.is_prerelease


def _as_asked(kind: str, text: str) -> str:
    """Return a key's value as its words are written: a release has no local part."""
    return (version_part(text, "base") or text) if kind == "release" else text


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
