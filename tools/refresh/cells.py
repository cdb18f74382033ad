"""What a cell of a table says beside what was derived: releases, ranges, requirements, markers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.markers import InvalidMarker, Marker
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in, parse_specifier, parse_version
from tools.refresh.document import Cell, Document, Row, Unread

if TYPE_CHECKING:
    from collections.abc import Mapping

LOWER = re.compile(r"(?:>=|==)\s*([0-9A-Za-z.]+)")
"""The lower end of a range, or the one release of it."""
_REQUIREMENT = re.compile(r"([A-Za-z][\w.-]{0,80}?)([<>=!~].{1,400})")


def below_next_minor(version: Version) -> str:
    """Return the upper end of a range that takes in a minor release."""
    return f"<{version.major}.{version.minor + 1}"


def key_matches(kind: str, cell: str, wanted: str) -> bool:
    """Return whether a key cell takes in a value; of several words the first one decides."""
    if kind == "range":
        return bool(is_in(wanted, cell))
    if kind == "release":
        return parse_version(wanted) in [parse_version(word) for word in cell.split()]
    return wanted.split(maxsplit=1)[0] in cell.split()


def releases_of(row: Row) -> list[Version]:
    """Return the releases of a row, or the lower end of its range, in order."""
    cell = str(row.cells.get("version"))
    words = LOWER.findall(cell) if re.search(r"[<>=~*]", cell) else cell.split()
    return sorted(filter(None, map(parse_version, words))) or [Version("0")]


def is_blank(row: Row, document: Document) -> bool:
    """Return whether a row says of all columns that nobody read the release."""
    cells = [row.cells[name] for name in document.columns if name in row.cells]
    return bool(cells) and all(isinstance(cell, Unread) for cell in cells)


def says_the_same(row: Row, cells: Mapping[str, Cell]) -> bool:
    """Return whether a row says the same as other cells; neither may have more to say."""
    names = {*row.cells, *cells} - {"version"}
    return all(
        not isinstance(cells.get(name), Unread) and row.cells.get(name) == cells.get(name)
        for name in names
    )


def is_same_version(one: str, other: str) -> bool:
    """Return whether two texts name one release."""
    return parse_version(one) == parse_version(other)


def newest_of(row: Row) -> Version:
    """Return the newest release of a row, or the lower end of its range."""
    return releases_of(row)[-1]


def equal(kind: str, cell: str, text: str) -> bool:
    """Return whether a cell of a kind says what was derived."""
    if kind == "list":
        return set(map(meaning_of, cell.split())) == set(map(meaning_of, text.split()))
    if kind == "version":
        return cell == text or (parse_version(cell) or cell) == parse_version(text)
    return cell == text or _same_specifier(cell, text) or _same_marker(cell, text)


def meaning_of(text: str) -> object:
    """Return what tells words apart: requirements that say the same are one."""
    match = _REQUIREMENT.fullmatch(text)
    bounds = parse_specifier(match.group(2)) if match else None
    return text if match is None or bounds is None else (match.group(1), bounds)


def _same_specifier(cell: str, text: str) -> bool:
    left, right = parse_specifier(cell), parse_specifier(text)
    return left is not None and left == right


def _same_marker(cell: str, text: str) -> bool:
    try:
        return str(Marker(cell)) == str(Marker(text))
    except InvalidMarker:
        return False


def shown(cell: Cell) -> str:
    """Return a cell as a report shows it."""
    if cell is None:
        return "absent"
    return "unknown" if isinstance(cell, Unread) else cell
