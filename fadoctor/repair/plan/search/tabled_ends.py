"""With which ranges and versions the tables compare releases, and who asks for them: read once.

The environment of a plan adds what is installed, and its rules. All searches share the tables'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.same_version import TABLE as SAME_VERSION
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known
from fadoctor.model.packages import PACKAGES, RELEASES, package_of
from fadoctor.repair.plan.choices.choice import distribution_of
from fadoctor.repair.plan.states.rule_inputs import compared_with

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from packaging.version import Version

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Table
    from fadoctor.repair.plan.choices.releases import Releases
    from fadoctor.repair.plan.states.relations import Relation

_END = re.compile(r"(?P<side>>=|<(?!=))?\s?(?<![\w.])(?P<version>\d[\w.+]{0,60})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?<![._-])")
_LISTS = "-releases"
"""What names of tables end with that list the releases of one package."""
_TEXTS = frozenset(("version", "requires", "others", "references", "note", "verified"))
"""Columns that decide nothing, or tell the rows of two releases apart by their number."""

Ends = tuple[frozenset["Version"], frozenset["Version"]]
"""The versions before which something changes, and those at which."""


class TabledEnds:
    """Those of one session."""

    def __init__(self, matrix: Matrix, listed: Releases) -> None:
        """Take the tables, and the releases that they list."""
        self._matrix, self._listed = matrix, listed
        self._asks: dict[str, list[tuple[str, str]]] | None = None
        self._askers: dict[str, frozenset[str]] = {}
        self._ends: dict[str, Ends] = {}
        self._of_rules: dict[tuple[str, str], Ends] = {}
        self._tables: dict[str, tuple[Table, ...]] = {}
        self._rows: dict[tuple[str, str], tuple[str, ...]] = {}

    def askers(self, name: str) -> frozenset[str]:
        """Return the packages of which releases ask for a distribution."""
        if name not in self._askers:
            asks = self._asking().get(name, ())
            self._askers[name] = frozenset(package_of(asker, asker) for asker, _ in asks)
        return self._askers[name]

    def ends_of(self, package: str) -> Ends:
        """Return the ends of the ranges in which tables name versions of a package."""
        if package not in self._ends:
            self._ends[package] = ends_in(self._compared(package))
        return self._ends[package]

    def ends_of_rule(self, relation: Relation, package: str) -> Ends:
        """Return the versions that a rule compares those of a package with."""
        asked = (relation.key, package)
        if asked not in self._of_rules:
            texts = compared_with(relation.rule, package, relation.package)
            self._of_rules[asked] = ends_in(texts)
        return self._of_rules[asked]

    def rows_of(self, package: str, version: str) -> tuple[str, ...]:
        """Return what tables that list releases one by one say of one, as texts."""
        asked = (package, version)
        if asked not in self._rows:
            self._rows[asked] = tuple(self._read_rows(package, version))
        return self._rows[asked]

    def _read_rows(self, package: str, version: str) -> Iterator[str]:
        """Yield what `rows_of` keeps."""
        keys = {"version": Known(version, "asked")}
        own = {"package": Known(distribution_of(package), "asked")}
        told = _TEXTS.union(RELEASES.get(package, ("", {}))[1])
        for table in self._listing(package):
            asked = keys | (own if "package" in table.keys else {})
            for row in self._matrix.find(table.table, asked).rows:
                yield text_of_cells({n: cell for n, cell in row.items() if n not in told})

    def _listing(self, package: str) -> tuple[Table, ...]:
        """Return the tables that list releases of a package one by one."""
        if package not in self._tables:
            head = distribution_of(package)
            self._tables[package] = tuple(
                table
                for name, table in self._matrix.tables.items()
                if table.keys.get("version") in ("release", "word")
                and ("package" in table.keys or name.startswith(f"{head}-"))
            )
        return self._tables[package]

    def _asking(self) -> dict[str, list[tuple[str, str]]]:
        """Return who asks for what in which range: distribution -> askers with ranges."""
        if self._asks is None:
            self._asks = {}
            for asker, needed, text in self._every_ask():
                self._asks.setdefault(needed, []).append((asker, text))
        return self._asks

    def _every_ask(self) -> Iterator[tuple[str, str, str]]:
        for name, table in self._matrix.tables.items():
            for row in table.rows if _is_of_requirements(name, table) else ():
                askers = str(row.get("package") or name.removesuffix(_LISTS)).split()
                words = (*cell_words(row.get("requires")), *cell_words(row.get("also")))
                for found, text in ((_NAME.match(each), each) for each in words):
                    for asker in askers if found else ():
                        yield asker, text[: found.end()].lower(), text[found.end() :]  # type: ignore[union-attr] # there are askers
        for package, (table_name, columns) in RELEASES.items():
            for row in self._matrix.tables[table_name].rows:
                for column, name in columns.items():
                    if isinstance(row.get(column), str):
                        yield distribution_of(package), name, str(row[column])

    def _compared(self, package: str) -> Iterator[str]:
        """Yield ranges and versions that tables compare those of a package with."""
        names = {*PACKAGES.get(package, (package,))}
        for name in names:
            yield from (text for _, text in self._asking().get(name, ()))
        for table in self._matrix.tables.values():
            yield from _ranges(table, names)
        if any(str(row["package"]) in names for row in self._matrix.tables[SAME_VERSION].rows):
            yield from (each.version for each in self._listed.every(package))


def ends_in(texts: Iterable[str]) -> Ends:
    """Return the versions before which something changes, and those at which, in some ranges."""
    found: tuple[set[Version], set[Version]] = set(), set()
    for text in dict.fromkeys(texts):
        for end in _END.finditer(text):
            found[not end["side"]].add(version_key(end["version"]))
    return frozenset(found[0]), frozenset(found[1])


def text_of_cells(cells: Mapping[str, object]) -> str:
    """Return facts or cells as a text that tells them apart from others."""
    return repr(sorted(cells.items(), key=str))


def _is_of_requirements(name: str, table: Table) -> bool:
    """Return whether the rows of a table say what releases require."""
    return name.endswith(_LISTS) or bool({"requires", "also"} & table.columns.keys())


def _ranges(table: Table, names: Collection[str]) -> Iterator[str]:
    """Yield the ranges of versions of a package in a table, and of what goes with it."""
    is_range, is_beside = table.keys.get("version") == "range", "beside" in table.keys
    for row in table.rows if is_range or is_beside else ():
        about = str(row.get("package", "")).split()
        if is_range and (not about or any(each in names for each in about)):
            yield str(row["version"])
        if is_beside and row["beside"] in names:
            yield str(row.get("fits") or "")
