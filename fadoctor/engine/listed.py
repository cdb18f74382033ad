"""Whether a table has a row for what a pattern has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.matrix.query import Matrix
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
        if listed[TABLE] not in self._matrix.tables:
            from fadoctor.matrix.load import load_apart  # noqa: PLC0415 -- large, rarely asked for

            self._matrix = Matrix(load_apart(self._matrix.tables))
        said = {key: Known(groups.get(name) or "", "a log")
                for key, name in listed.items() if key not in {TABLE, HEIRS}}  # fmt: skip
        if self._matrix.find(listed[TABLE], said).none is None:
            return True
        heirs = self._matrix.tables.get(listed.get(HEIRS, ""))
        if heirs is None:
            return False
        [key], [column] = heirs.keys, heirs.columns
        others = self._matrix.find(heirs.table, {key: said[key]}).cell(column)
        bases = others.value if isinstance(others, Known) else ()
        return any(
            self._matrix.find(listed[TABLE], {**said, key: Known(base, heirs.table)}).none is None
            for base in (bases if isinstance(bases, tuple) else ())
        )
