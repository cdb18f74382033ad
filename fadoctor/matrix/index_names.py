"""Names under which PyPI has something else than is meant: of what is installed, or asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Absent, Fact, Known, fact_words
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.matrix.query import Matrix, Rows

MISTAKEN, INSTEAD = "packages.mistaken", "packages.mistaken_instead"
OF_FILES = "what the files ask for, and what PyPI has"
_OF_PACKAGES = "the list of installed packages"


def mistaken_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which installed packages are not what their names say.

    What files ask for stays as they say it, until a file by its address takes its place.
    """
    said, installed = facts.get(MISTAKEN), facts.get("packages.installed")
    if isinstance(said, Known) and said.source == OF_FILES and isinstance(said.value, dict):
        return told((name for name in said.value if not _has_address(name, facts)), matrix)
    if installed is None:
        return {}
    if not isinstance(installed, Known) or not isinstance(installed.value, dict):
        return dict.fromkeys((MISTAKEN, INSTEAD), installed)
    there = installed.value
    names = [name for name, rows in _rows(there, matrix) if _is_one(there[name], rows, "serves")]
    found = told(names, matrix)
    return {name: _because(fact) for name, fact in found.items()}


def asked_in_vain(name: str, version: str, specifier: str, matrix: Matrix) -> bool:
    """Return whether PyPI has nothing that is meant, of one version or of a range."""
    for _, rows in _rows((name,), matrix):
        meant = fact_words(rows.cell("meant"))
        if version:
            return not _is_one(version, rows, "meant")
        allowed = parse_specifier(specifier) if specifier else None
        return not any(allowed is None or allowed.contains(each) for each in meant)
    return False


def told(names: Iterable[str], matrix: Matrix) -> dict[str, Fact]:
    """Return the facts about some names that the table has."""
    rows = dict(_rows(names, matrix))
    what = {name: str(getattr(row.cell("what"), "value", "")) for name, row in rows.items()}
    ways = [str(getattr(row.cell("instead"), "value", "")) for row in rows.values()]
    return {
        MISTAKEN: Known(what, OF_FILES),
        INSTEAD: Known(" ".join(ways), OF_FILES) if ways else Absent(OF_FILES),
    }


def _because(fact: Fact) -> Fact:
    return Known(fact.value, _OF_PACKAGES) if isinstance(fact, Known) else Absent(_OF_PACKAGES)


def _rows(names: Iterable[str], matrix: Matrix) -> list[tuple[str, Rows]]:
    """Return the rows of the names that the table has; there are few, so it is asked for all."""
    table = matrix.tables.get("index-names")
    known = {str(row["package"]) for row in table.rows} if table is not None else set()
    return [
        (name, matrix.find("index-names", {"package": Known(name, "asked")}))
        for name in names
        if name in known
    ]


def _is_one(version: str, rows: Rows, column: str) -> bool:
    """Return whether a version is one of the releases of a column."""
    mine = parse_version(version)
    return mine is not None and mine in map(parse_version, fact_words(rows.cell(column)))


def _has_address(name: str, facts: Mapping[str, Fact]) -> bool:
    package = next((key for key, names in PACKAGES.items() if name in names), name)
    return isinstance(facts.get(f"{package}.direct_url"), Known)
