"""Releases that are alike to all that is decided later: the newest of them costs the least.

Of hundreds of releases most differ in their number alone. Two are alike if tables say the same of
both, if both ask for the same, and if no rule or range tells one number from the other.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.same_version import TABLE as SAME_VERSION
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.packages import PACKAGES, PLANNED, RELEASES, package_of
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.states.requirements import named_or_installed
from fadoctor.repair.plan.states.rule_inputs import compared_with

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping

    from packaging.version import Version

    from fadoctor.model.rule import Table
    from fadoctor.repair.plan.search.problem import Problem

_END = re.compile(r"(?P<side>>=|<(?!=))?\s?(?<![\w.])(?P<version>\d[\w.+]{0,60})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?<![._-])")
_RELEASES = "-releases"
"""What names of tables end with that list the releases of one package."""
_LEAST = re.compile(r">=[\w.+]{1,60}")
"""A range with an end below alone."""
_TEXTS = frozenset(("version", "requires", "others", "references", "note", "verified"))
"""Columns that decide nothing, or tell the rows of two releases apart by their number."""
_OF_RELEASE = ("version", "requires", "requires_python")
"""Facts that follow from the number of a release, or are compared as what it asks for."""


class SameStance:
    """That of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem; what its tables and rules say of a package is read once it is asked."""
        self.problem = problem
        self._matrix = problem.session.matrix
        self._there = named_or_installed(problem.environment)
        self._keys: dict[tuple[str, str], Hashable] = {}
        self._ends: dict[str, tuple[list[Version], list[Version]]] = {}
        self._tables: dict[str, tuple[Table, ...]] = {}
        self._askers: dict[str, set[str]] | None = None
        self._is_off = bool(problem.lessons.count)
        """What an installer refused, it refused of one release."""

    def key(self, choice: Choice) -> Hashable | None:
        """Return what two releases share that are alike; None for one that is like no other."""
        is_release = choice.kind is ChoiceKind.INSTALL and choice.version
        if not is_release or self._is_off or choice.package not in PLANNED:
            return None
        asked = (choice.package, choice.key)
        if asked not in self._keys:
            self._keys[asked] = self._key(choice)
        return self._keys[asked]

    def _key(self, choice: Choice) -> Hashable:
        package, name, version = choice.package, choice.distribution, choice.version
        if package not in self._ends:
            self._ends[package] = self._ends_of(package)
        begins, others = self._ends[package]
        place = version_key(version)
        between = (
            bisect_right(begins, place),
            bisect_left(others, place),
            bisect_right(others, place),
        )
        session, platform = self.problem.session, self.problem.platform
        helpers = session.candidates.helpers
        own = {f"{package}.{noun}" for noun in _OF_RELEASE}
        facts = {n: f for n, f in choice.facts.items() if n not in own}
        asks = (
            fact_mapping(choice.facts.get(f"{package}.requires")),
            helpers.needs(name, version, platform),
            helpers.declared(name, version),
            session.bounds.of(name, version),
        )
        return (
            package,
            between,
            session.months.of(name, version),
            bool(choice.index),
            bool(self.problem.lowers(choice)),
            _text(facts),
            tuple(tuple(sorted(self._meant(package, each))) for each in asks),
            tuple(self._rows(package, version)),
        )

    def _ends_of(self, package: str) -> tuple[list[Version], list[Version]]:
        """Return the versions before which something changes, and those at which, in order."""
        found: tuple[set[Version], set[Version]] = set(), set()
        for text in self._compared(package):
            for end in _END.finditer(text):
                found[not end["side"]].add(version_key(end["version"]))
        return sorted(found[0]), sorted(found[1])

    def _meant(self, package: str, asks: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield what a release asks for.

        Of what only it asks for, in a range without an end, whether what is there will do.
        """
        for name, text in asks.items():
            here = self._there.get(name)
            is_free = _LEAST.fullmatch(text) and self._is_asked_alone(package, name)
            if is_free and package_of(name, name) not in self.problem.wishes.kept:
                yield name, "" if here is None else f"{accepts(text, here)}"
            else:
                yield name, text

    def _is_asked_alone(self, package: str, name: str) -> bool:
        """Return whether nothing that tables or metadata know asks for it but one package."""
        if self._askers is None:
            found: dict[str, set[str]] = {}
            for asker, needed, _ in self._asks():
                found.setdefault(needed, set()).add(package_of(asker, asker))
            self._askers = found
        return self._askers.get(name, set()) <= {package}

    def _asks(self) -> Iterator[tuple[str, str, str]]:
        """Yield who asks for what in which range, by tables and by what is installed."""
        for name, table in self._matrix.tables.items():
            for row in table.rows if _is_of_requirements(name, table) else ():
                askers = str(row.get("package") or name.removesuffix(_RELEASES)).split()
                words = (*cell_words(row.get("requires")), *cell_words(row.get("also")))
                for found, text in ((_NAME.match(each), each) for each in words):
                    for asker in askers if found else ():
                        yield asker, text[: found.end()].lower(), text[found.end() :]  # type: ignore[union-attr] # there are askers
        for package, (table_name, columns) in RELEASES.items():
            for row in self._matrix.tables[table_name].rows:
                for column, name in columns.items():
                    if isinstance(row.get(column), str):
                        yield distribution_of(package), name, str(row[column])
        for asker, needs in self.problem.requirements(self.problem.environment).items():
            yield from ((asker, name, text) for name, text in needs.items())

    def _compared(self, package: str) -> Iterator[str]:
        """Yield ranges and versions that those of a package are compared with."""
        names = {*PACKAGES.get(package, (package,))}
        yield from filter(None, (self._there.get(name, "") for name in names))
        for relation in self.problem.relations:
            yield from compared_with(relation.rule, package, relation.package)
        yield from (text for _, needed, text in self._asks() if needed in names)
        for table in self._matrix.tables.values():
            yield from _ranges(table, names)
        if any(str(row["package"]) in names for row in self._matrix.tables[SAME_VERSION].rows):
            every = self.problem.session.candidates.listed.every(package)
            yield from (each.version for each in every)

    def _rows(self, package: str, version: str) -> Iterator[Hashable]:
        """Yield what tables that list releases one by one say of one."""
        keys = {"version": Known(version, "asked")}
        for table in self._listing(package):
            more = {"package": Known(distribution_of(package), "asked")}
            found = self._matrix.find(table.table, keys | (more if "package" in table.keys else {}))
            for row in found.rows:
                asked = _TEXTS.union(RELEASES.get(package, ("", {}))[1])
                yield _text({name: cell for name, cell in row.items() if name not in asked})

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


def _is_of_requirements(name: str, table: Table) -> bool:
    """Return whether the rows of a table say what releases require."""
    return name.endswith(_RELEASES) or bool({"requires", "also"} & table.columns.keys())


def _ranges(table: Table, names: Collection[str]) -> Iterator[str]:
    """Yield the ranges of versions of a package in a table, and of what goes with it."""
    is_range, is_beside = table.keys.get("version") == "range", "beside" in table.keys
    for row in table.rows if is_range or is_beside else ():
        about = str(row.get("package", "")).split()
        if is_range and (not about or any(each in names for each in about)):
            yield str(row["version"])
        if is_beside and row["beside"] in names:
            yield str(row.get("fits") or "")


def _text(facts: Mapping[str, object]) -> str:
    return repr(sorted(facts.items(), key=str))
