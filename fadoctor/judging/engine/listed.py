"""Whether a table has a row for what a pattern has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known
from fadoctor.model.rule import HEIRS, TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.rule import Table


class Lists:
    """The tables that symptoms name; those that are compiled apart are read when one is asked."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """Take the tables at hand."""
        self._matrix = Matrix(tables)

    def has(self, listed: Mapping[str, str], groups: Mapping[str, str | None]) -> bool:
        """Return whether a table has a row for the groups of a match; of no table it has."""
        if not listed:
            return True
        table, heirs = listed[TABLE], listed.get(HEIRS, "")
        if not {table, heirs} - {""} <= self._matrix.tables.keys():
            from fadoctor.knowledge.matrix.load import load_apart  # noqa: PLC0415 -- large, rarely asked for

            self._matrix = Matrix(load_apart(self._matrix.tables))
        said = {key: Known(groups.get(name) or "", "a log")
                for key, name in listed.items() if key not in {TABLE, HEIRS}}  # fmt: skip
        if not heirs:
            return self._matrix.find(table, said).none is None
        [key] = self._matrix.tables[heirs].keys
        return any(
            self._matrix.find(table, {**said, key: Known(name, "a log")}).none is None
            for name in self._matrix.lineage(heirs, str(said[key].value))
        )
