"""Tables as they are compiled: each is unpacked only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import FadoctorError
from fadoctor.model.packed import unpack
from fadoctor.model.rule import Cell, Table

if TYPE_CHECKING:
    from pathlib import Path


class Apart(Mapping[str, Table]):
    """The tables of a compiled file, and beside them those that are at hand."""

    def __init__(
        self, packed: Mapping[str, bytes], source: Path, beside: Mapping[str, Table]
    ) -> None:
        """Take the tables of a file as it has them."""
        self._packed = packed
        self._source = source
        self._beside = beside
        self._unpacked: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        """Return a table; KeyError where there is none, FadoctorError where it is damaged."""
        found = self._unpacked.get(name)
        if found is None:
            found = self.once(name)
            if name in self._packed:
                self._unpacked[name] = found
        return found

    def once(self, name: str) -> Table:
        """Return a table as `[name]` does, and keep nothing of it."""
        if name not in self._packed:
            return self._beside[name]
        try:
            return unpack(self._packed[name], Table)
        except msgspec.DecodeError as error:
            raise FadoctorError(f"{self._source}: the table {name} is damaged: {error}") from error

    def __contains__(self, name: object) -> bool:
        """Return whether there is a table; what a `Mapping` has of itself would unpack it."""
        return name in self._packed or name in self._beside

    def __iter__(self) -> Iterator[str]:
        """Yield the names, each once."""
        yield from dict.fromkeys((*self._beside, *self._packed))

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._beside.keys() | self._packed.keys())


def table_once(tables: Mapping[str, Table], name: str) -> Table | None:
    """Return a table of which the caller keeps something else; None where there is none."""
    if name not in tables:
        return None
    return tables.once(name) if isinstance(tables, Apart) else tables[name]


def rows_once(tables: Mapping[str, Table], name: str) -> tuple[dict[str, Cell], ...]:
    """Return the rows of a table of which the caller keeps something else; none without it."""
    table = table_once(tables, name)
    return table.rows if table is not None else ()
