"""Names under which PyPI has something else than is meant: of what is installed, or asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Absent, Fact, Known, fact_words
from fadoctor.model.packages import package_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Rows

MISTAKEN, INSTEAD = "packages.mistaken", "packages.mistaken_instead"
_SERIES_MENDED = 3
"""The newest series of releases, of 5.23, 5.22 and 5.21, may still get one in their midst."""
OF_FILES = "what the files ask for, and what PyPI has"
_OF_PACKAGES = "the list of installed packages"


def mistaken_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which installed packages are not what their names say.

    What files ask for stays as they say it, until a file by its address takes its place.
    """
    said, installed = facts.get(MISTAKEN), facts.get("packages.installed")
    if isinstance(said, Known) and said.source == OF_FILES and isinstance(said.value, dict):
        left = {n: v for n in said.value if (v := _asked_now(n, facts, matrix)) is not None}
        return told(left, matrix)
    if installed is None:
        return {}
    if not isinstance(installed, Known) or not isinstance(installed.value, dict):
        return dict.fromkeys((MISTAKEN, INSTEAD), installed)
    there = installed.value
    serves = {n: there[n] for n, rows in _rows(there, matrix) if _is_one(there[n], rows, "serves")}
    found = told(serves, matrix)
    return {name: _because(fact) for name, fact in found.items()}


def asked_in_vain(name: str, version: str, specifier: str, matrix: Matrix) -> bool:
    """Return whether PyPI has nothing that is meant, of one version or of a range."""
    for _, rows in _rows((name,), matrix):
        meant = fact_words(rows.cell("meant"))
        if version:
            return not _is_one(version, rows, "meant")
        allowed = parse_specifier(specifier) if specifier else None
        return not any(allowed is None or allowed.contains(each) for each in meant)
    return bool(version and nearest_releases(name, version, matrix))


def nearest_releases(name: str, version: str, matrix: Matrix) -> tuple[str, ...]:
    """Return the releases before and after a version that does not exist; none where it may.

    Only of packages of which every release is known, and within them. The newest series may
    have got a release since the tables were written.
    """
    cells = matrix.find("listed-releases", {"package": Known(name, "asked")})
    mine = parse_version(version)
    if mine is None or mine.is_prerelease or mine.local:
        return ()
    table = matrix.tables.get(str(getattr(cells.cell("table"), "value", "")))
    texts = [*fact_words(cells.cell("releases"))]
    texts += [
        text
        for row in (table.rows if table is not None else ())
        if str(row.get("package", name)) == name
        for text in str(row["version"]).split()
    ]
    known = sorted({(found, text) for text in texts if (found := parse_version(text))})
    gone = map(parse_version, fact_words(cells.cell("withdrawn")))
    if not known or mine in gone or any(mine == each for each, _ in known):
        return ()
    before = [text for each, text in known if each < mine]
    after = [text for each, text in known if each > mine]
    later = {each.release[:2] for each, _ in known if each > mine}
    is_past = mine.release[:2] in later or len(later) >= _SERIES_MENDED
    return (before[-1], after[0]) if before and is_past else ()


def told(asked: Mapping[str, str], matrix: Matrix) -> dict[str, Fact]:
    """Return the facts about what is asked for, or there: name -> version, "" for a range."""
    what: dict[str, str] = {}
    ways: list[str] = []
    for name, rows in _rows(asked, matrix):
        what[name] = str(getattr(rows.cell("what"), "value", ""))
        ways.append(str(getattr(rows.cell("instead"), "value", "")))
    for name, version in asked.items():
        if name not in what and (near := nearest_releases(name, version, matrix)):
            what[name] = f"{version} (PyPI has no such release)"
            ways.append(f"The nearest releases of {name} are {near[0]} and {near[1]}.")
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


def _asked_now(name: str, facts: Mapping[str, Fact], matrix: Matrix) -> str | None:
    """Return the version that is asked for by now, "" for a range; None where that is there."""
    package = package_of(name, name)
    if isinstance(facts.get(f"{package}.direct_url"), Known):
        return None
    version = facts.get(f"{package}.version")
    if not isinstance(version, Known):
        return ""
    return str(version.value) if asked_in_vain(name, str(version.value), "", matrix) else None
