"""Compare derived rows with a table, and write into it what it lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in, parse_version
from tools.refresh.cells import (
    LOWER,
    below_next_minor,
    equal,
    is_blank,
    is_same_version,
    key_matches,
    newest_of,
    releases_of,
    says_the_same,
    shown,
)
from tools.refresh.document import Cell, Document, Row, Unread

if TYPE_CHECKING:
    from tools.refresh.artefact import Value
    from tools.refresh.derive import DerivedRow

_UPPER = re.compile(r"<[0-9.]+$")
_NOT_DERIVED = Unread("not read from the package")


class Judgement(Enum):
    """How a cell stands to what was derived."""

    SAME = "same"
    LACKING = "lacking"
    """The table does not know it, or knows a part of it."""
    DIFFERENT = "different"


@dataclass
class Report:
    """What one run found, in sentences."""

    agreements: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    persons: list[str] = field(default_factory=list)
    """What no package tells, so that a person must look it up."""
    unread: list[str] = field(default_factory=list)


class Comparison:
    """One table and one package; ``document`` is the table as it should become."""

    def __init__(
        self, name: str, document: Document, report: Report, *, grows: frozenset[str] = frozenset()
    ) -> None:
        self.document = document
        self._name = name
        self._report = report
        self._grows = grows
        """List columns that later uploads lengthen."""
        self._by_range = document.keys.get("version") == "range"
        self._agreed: set[tuple[str, str]] = set()
        """Range and column of rows that a release of this run agreed with."""

    def begins(self, package: str) -> Version:
        """Return the oldest release of a package that the table speaks about."""
        return min((releases_of(row)[0] for row in self._of(package)), default=Version("0"))

    def named(self, package: str) -> set[Version] | None:
        """Return the releases that the table names; None where it holds ranges, or nothing yet."""
        rows = self._of(package)
        if self._by_range or not rows:
            return None
        return {version for row in rows for version in releases_of(row)}

    def lacks(self, package: str, version: Version) -> bool:
        """Return whether a table of ranges says nothing of a release, or that nobody read it."""
        rows = [
            row for row in self._of(package) if is_in(str(version), str(row.cells.get("version")))
        ]
        return not rows or any(is_blank(row, self.document) for row in rows)

    def _of(self, package: str) -> list[Row]:
        """Return the rows of a package; all of them in a table about one."""
        if "package" not in self.document.keys:
            return list(self.document.rows)
        return [row for row in self.document.rows if package in str(row.cells["package"]).split()]

    def merge(self, package: str, derived: DerivedRow, *, overrule: bool = False) -> None:
        """Compare one derived row; with ``overrule`` the files win against the table."""
        words = dict.fromkeys([package, str(derived.version), *derived.keys.values()])
        place = f"{self._name}: {' '.join(words)}"
        rows = [row for row in self.document.rows if self._matches(row, derived)]
        if not rows:
            self._add(package, derived, place)
        elif len(rows) > 1 and derived.cells:
            self._report.notes.append(f"{place}: stands in {len(rows)} rows, not compared")
        elif derived.cells:
            overrule = overrule and not self._by_range
            changes = self._changes(rows[0], derived, place, overrule=overrule)
            if changes:
                self._write(rows[0], derived.version, changes, place)

    def _matches(self, row: Row, derived: DerivedRow, *, version: bool = True) -> bool:
        for name, kind in self.document.keys.items():
            wanted = str(derived.version) if name == "version" else derived.keys.get(name)
            cell = row.cells.get(name)
            if wanted is None or cell == "*" or (name == "version" and not version):
                continue
            if not isinstance(cell, str) or not key_matches(kind, cell, wanted):
                return False
        return True

    def _changes(
        self, row: Row, derived: DerivedRow, place: str, *, overrule: bool
    ) -> dict[str, Cell]:
        changes: dict[str, Cell] = {}
        same: list[str] = []
        for name, value in derived.cells.items():
            cell = row.cells.get(name)
            judgement = self._judge(name, cell, value)
            if (
                judgement is Judgement.LACKING
                or (overrule and judgement is not Judgement.SAME)
                or (judgement is Judgement.DIFFERENT and self._is_open_end(row, name))
            ):
                changes[name] = value.text
            elif judgement is Judgement.DIFFERENT:
                self._report.contradictions.append(
                    f"{place}: {name} is {shown(cell)} in the table and {shown(value.text)} "
                    f"in the package ({value.source})"
                )
            else:
                same.append(name)
                self._agreed.add((str(row.cells.get("version")), name))
        if same:
            self._report.agreements.append(f"{place}: {', '.join(same)}")
        return changes

    def _is_open_end(self, row: Row, name: str) -> bool:
        """Return whether a range has no end, and an older release in it was as it says."""
        cell = str(row.cells.get("version"))
        return self._by_range and "<" not in cell and (cell, name) in self._agreed

    def _judge(self, name: str, cell: Cell, value: Value) -> Judgement:
        if isinstance(cell, Unread):
            return Judgement.LACKING
        cell = None if cell == "absent" else cell
        if cell is None and value.text is not None and name in self._grows:
            return Judgement.LACKING
        if cell is None or value.text is None:
            return Judgement.SAME if cell == value.text else Judgement.DIFFERENT
        if equal(self.document.columns.get(name, "text"), cell, value.text):
            return Judgement.SAME
        longer = name in self._grows and set(cell.split()) < set(value.text.split())
        return Judgement.LACKING if longer else Judgement.DIFFERENT

    def _write(self, row: Row, version: Version, changes: dict[str, Cell], place: str) -> None:
        """Change the cells of one release; a row of several releases is divided first."""
        told = ", ".join(f"{name}: {shown(cell)}" for name, cell in changes.items())
        if self._by_range:
            self._divide(row, version, changes, place)
            return
        self._report.changes.append(f"{place}: {told}")
        number, words = row.number, str(row.cells["version"]).split()
        if len(words) > 1:
            others = " ".join(word for word in words if parse_version(word) != version)
            cells = {**row.cells, "version": str(version), **changes}
            self.document = self.document.with_row(number, cells)
            self.document = self.document.with_cell(number, "version", others)
            return
        for name, cell in changes.items():
            self.document = self.document.with_cell(number, name, cell)

    def _divide(self, row: Row, version: Version, changes: dict[str, Cell], place: str) -> None:
        """Write what a release of a range tells, if the range goes on to releases nobody read.

        Its beginning joins the range before it where that says the same, else gets its own row.
        """
        cell, end = str(row.cells["version"]), below_next_minor(version)
        told = ", ".join(f"{name}: {shown(text)}" for name, text in changes.items())
        floor = LOWER.search(cell)
        if "<" in cell or floor is None or not cell.startswith(">="):
            self._report.persons.append(f"{place}: {told}; divide the range {cell}")
            return
        rest = ">=" + end.removeprefix("<")
        new: dict[str, Cell] = {
            name: _NOT_DERIVED if isinstance(text, Unread) else text
            for name, text in row.cells.items()
        }
        new |= changes
        before = self._before(row)
        if is_blank(row, self.document):
            self.document = self.document.with_cell(row.number, "version", rest)
            if before is not None and says_the_same(before, new):
                self._report.changes.append(f"{place}: is as {before.cells['version']}")
                joined = _UPPER.sub(end, str(before.cells["version"]))
                self.document = self.document.with_cell(before.number, "version", joined)
                return
            self._own_row(row.number, new | {"version": f"{cell},{end}"}, place)
            return
        kept = f"{cell},<{version.major}.{version.minor}"
        self.document = self.document.with_cell(row.number, "version", kept)
        self._own_row(row.number, new | {"version": f">={version.major}.{version.minor}"}, place)

    def _own_row(self, like: int, cells: dict[str, Cell], place: str) -> None:
        self._report.changes.append(f"{place}: a row of its own")
        blank = [name for name, cell in cells.items() if cell == _NOT_DERIVED]
        if blank:
            self._report.persons.append(f"{place}: {', '.join(blank)}: read by a person")
        self.document = self.document.with_row(like, cells)

    def _before(self, row: Row) -> Row | None:
        """Return the row whose range ends where another begins, of the same keys."""
        floor = LOWER.search(str(row.cells["version"]))
        for each in self.document.rows:
            upper = _UPPER.search(str(each.cells["version"]))
            others = [name for name in self.document.keys if name != "version"]
            is_next = upper and floor and is_same_version(upper.group()[1:], floor.group(1))
            if is_next and all(each.cells.get(n) == row.cells.get(n) for n in others):
                return each
        return None

    def _add(self, package: str, derived: DerivedRow, place: str) -> None:
        """Write a release that no row names: into the row before it, or into one of its own."""
        kin = [row for row in self.document.rows if self._matches(row, derived, version=False)]
        older = [row for row in kin if newest_of(row) <= derived.version]
        if kin and not older:  # before the table begins
            return
        begins = not kin and "package" in self.document.keys
        if not derived.cells or not (older or begins):
            self._report.persons.append(f"{place}: no row; one must be written by hand")
            return
        like = max(older, key=newest_of) if older else self.document.rows[-1]
        if self._is_alike(like, derived):
            self._report.changes.append(f"{place}: is as {like.cells['version']}")
            cell = self._joined(str(like.cells["version"]), derived.version)
            self.document = self.document.with_cell(like.number, "version", cell)
            return
        cells: dict[str, Cell] = dict.fromkeys(self.document.columns, _NOT_DERIVED)
        cells |= {name: value.text for name, value in derived.cells.items()}
        cells |= {**self._keys(like, derived), "version": self._own(derived.version, kin)}
        self._own_row(like.number, cells, place)
        self.document = self.document.with_reference(f"pkg:pypi/{package}@{derived.version}")

    def _is_alike(self, row: Row, derived: DerivedRow) -> bool:
        """Return whether a row says nothing but what was derived."""
        names = {*self.document.keys, *self.document.columns}
        can_grow = not self._by_range or _UPPER.search(str(row.cells["version"])) is not None
        return (
            can_grow
            and set(row.cells) <= names
            and set(derived.cells) == set(self.document.columns)
            and all(row.cells.get(name) == text for name, text in self._keys(row, derived).items())
            and all(
                self._judge(name, row.cells.get(name), value) is Judgement.SAME
                for name, value in derived.cells.items()
            )
        )

    def _keys(self, like: Row, derived: DerivedRow) -> dict[str, Cell]:
        """Return the key cells of a new row: a range stays the range that a value was tried of."""
        return {
            name: like.cells[name] if self.document.keys[name] == "range" else text
            for name, text in derived.keys.items()
        }

    def _joined(self, cell: str, version: Version) -> str:
        """Return a version cell that takes in one more release."""
        if self._by_range:
            return _UPPER.sub(below_next_minor(version), cell)
        return f"{cell} {version}"

    def _own(self, version: Version, kin: list[Row]) -> str:
        if not self._by_range:
            return str(version)
        end = below_next_minor(version)
        later = [each for row in kin if version < (each := releases_of(row)[0]) < Version(end[1:])]
        return f">={version},{f'<{min(later)}' if later else end}"
