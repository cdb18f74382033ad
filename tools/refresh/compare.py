"""Compare derived rows with a table, and write into it what it lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from packaging.markers import InvalidMarker, Marker
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in, parse_specifier, parse_version
from tools.refresh.document import Cell, Document, Row, Unread

if TYPE_CHECKING:
    from tools.refresh.artefact import Value
    from tools.refresh.derive import DerivedRow

_UPPER = re.compile(r"<[0-9.]+$")
_LOWER = re.compile(r"(?:>=|==)\s*([0-9A-Za-z.]+)")
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
        self._by_range = document.keys["version"] == "range"

    def begins(self, package: str) -> Version:
        """Return the oldest release of a package that the table speaks about."""
        return min((_versions(row)[0] for row in self._of(package)), default=Version("0"))

    def named(self, package: str) -> set[Version] | None:
        """Return the releases that the table names; None where it holds ranges, or nothing yet."""
        rows = self._of(package)
        if self._by_range or not rows:
            return None
        return {version for row in rows for version in _versions(row)}

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
            if not isinstance(cell, str) or not _key_matches(kind, cell, wanted):
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
            if judgement is Judgement.LACKING or (overrule and judgement is not Judgement.SAME):
                changes[name] = value.text
            elif judgement is Judgement.DIFFERENT:
                self._report.contradictions.append(
                    f"{place}: {name} is {_shown(cell)} in the table and {_shown(value.text)} "
                    f"in the package ({value.source})"
                )
            else:
                same.append(name)
        if same:
            self._report.agreements.append(f"{place}: {', '.join(same)}")
        return changes

    def _judge(self, name: str, cell: Cell, value: Value) -> Judgement:
        if isinstance(cell, Unread):
            return Judgement.LACKING
        if cell is None and value.text is not None and name in self._grows:
            return Judgement.LACKING
        if cell is None or value.text is None:
            return Judgement.SAME if cell == value.text else Judgement.DIFFERENT
        if _equal(self.document.columns.get(name, "text"), cell, value.text):
            return Judgement.SAME
        longer = name in self._grows and set(cell.split()) < set(value.text.split())
        return Judgement.LACKING if longer else Judgement.DIFFERENT

    def _write(self, row: Row, version: Version, changes: dict[str, Cell], place: str) -> None:
        """Change the cells of one release; a row of several releases is divided first."""
        told = ", ".join(f"{name}: {_shown(cell)}" for name, cell in changes.items())
        if self._by_range:
            self._report.notes.append(f"{place}: {told}; divide the range by hand")
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

    def _add(self, package: str, derived: DerivedRow, place: str) -> None:
        """Write a release that no row names: into the row before it, or into one of its own."""
        kin = [row for row in self.document.rows if self._matches(row, derived, version=False)]
        older = [row for row in kin if _floor(row) <= derived.version]
        if kin and not older:  # before the table begins
            return
        begins = not kin and "package" in self.document.keys
        if not derived.cells or not (older or begins):
            self._report.notes.append(f"{place}: no row; one must be written by hand")
            return
        like = max(older, key=_floor) if older else self.document.rows[-1]
        if self._is_alike(like, derived):
            self._report.changes.append(f"{place}: is as {like.cells['version']}")
            cell = self._joined(str(like.cells["version"]), derived.version)
            self.document = self.document.with_cell(like.number, "version", cell)
            return
        self._report.changes.append(f"{place}: a row of its own")
        cells: dict[str, Cell] = dict.fromkeys(self.document.columns, _NOT_DERIVED)
        cells |= {name: value.text for name, value in derived.cells.items()}
        cells |= {**derived.keys, "version": self._own(derived.version)}
        self.document = self.document.with_row(like.number, cells)
        self.document = self.document.with_reference(f"pkg:pypi/{package}@{derived.version}")

    def _is_alike(self, row: Row, derived: DerivedRow) -> bool:
        """Return whether a row says nothing but what was derived."""
        names = {*self.document.keys, *self.document.columns}
        can_grow = not self._by_range or _UPPER.search(str(row.cells["version"])) is not None
        return (
            can_grow
            and set(row.cells) <= names
            and set(derived.cells) == set(self.document.columns)
            and all(row.cells.get(name) == text for name, text in derived.keys.items())
            and all(
                self._judge(name, row.cells.get(name), value) is Judgement.SAME
                for name, value in derived.cells.items()
            )
        )

    def _joined(self, cell: str, version: Version) -> str:
        """Return a version cell that takes in one more release."""
        if self._by_range:
            return _UPPER.sub(_below_next_minor(version), cell)
        return f"{cell} {version}"

    def _own(self, version: Version) -> str:
        return f">={version},{_below_next_minor(version)}" if self._by_range else str(version)


def _below_next_minor(version: Version) -> str:
    return f"<{version.major}.{version.minor + 1}"


def _key_matches(kind: str, cell: str, wanted: str) -> bool:
    """Return whether a key cell takes in a value; of several words the first one decides."""
    if kind == "range":
        return bool(is_in(wanted, cell))
    if kind == "release":
        return parse_version(wanted) in [parse_version(word) for word in cell.split()]
    return wanted.split(maxsplit=1)[0] in cell.split()


def _versions(row: Row) -> list[Version]:
    """Return the releases of a row, or the lower end of its range, in order."""
    cell = str(row.cells.get("version"))
    words = _LOWER.findall(cell) if re.search(r"[<>=~*]", cell) else cell.split()
    return sorted(filter(None, map(parse_version, words))) or [Version("0")]


def _floor(row: Row) -> Version:
    return _versions(row)[-1]


def _equal(kind: str, cell: str, text: str) -> bool:
    if kind == "list":
        return set(cell.split()) == set(text.split())
    if kind == "version":
        return cell == text or (parse_version(cell) or cell) == parse_version(text)
    return cell == text or _same_specifier(cell, text) or _same_marker(cell, text)


def _same_specifier(cell: str, text: str) -> bool:
    left, right = parse_specifier(cell), parse_specifier(text)
    return left is not None and left == right


def _same_marker(cell: str, text: str) -> bool:
    try:
        return str(Marker(cell)) == str(Marker(text))
    except InvalidMarker:
        return False


def _shown(cell: Cell) -> str:
    if cell is None:
        return "absent"
    return "unknown" if isinstance(cell, Unread) else cell
