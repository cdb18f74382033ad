"""What comes from the main branch of its authors: it is newer than every release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version, version_key
from fadoctor.model.fact import Unknown, fact_text
from fadoctor.sources.manifests.installed.spelling import OF_SEVERAL
from fadoctor.sources.manifests.requirement_text import is_of_main

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.fact import Fact
    from fadoctor.sources.manifests.installed.combine import Combined

_OPEN = Unknown("not known", "host")


def of_main(combined: Combined, facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, str]:
    """Return package -> range of what files take from a main branch.

    It is at least the newest release that the tables list for this Python. What came after that
    nobody has read.
    """
    python = fact_text(facts.get("python.version", _OPEN), "")
    found = {
        name: _newest(name, python, matrix)
        for name, planned in combined.packages.items()
        if not (planned.version or planned.open) and is_of_main(planned.url, name)
    }
    return {name: f">={newest}" for name, newest in found.items() if newest}


def main_for_another_python(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, str]:
    """Return which main branches leave this Python out, as the newest release of each does.

    A project does not take an old Python up again.
    """
    python = fact_text(facts.get("python.version", _OPEN), "")
    found: dict[str, str] = {}
    for name, planned in combined.packages.items():
        if not python or planned.open or not is_of_main(planned.url, name):
            continue
        newest, last = _newest(name, "", matrix), _newest(name, python, matrix)
        if not newest or newest == last:
            continue
        asked = next(each["python"] for each in _rows(name, matrix) if newest in _versions(each))
        minor = ".".join(python.split(".")[:2])
        older = f"; {last} is the last release for it" if last else ""
        found[name] = (
            f"its main branch needs Python {asked}, as {newest} does, "
            f"and this one is {minor}{older}"
        )
    return found


def _rows(name: str, matrix: Matrix) -> Iterator[Row]:
    for table in OF_SEVERAL:
        yield from (row for row in matrix.tables[table].rows if row["package"] == name)


def _versions(row: Row) -> tuple[str, ...]:
    return tuple(cell_words(row["version"]))


def _newest(name: str, python: str, matrix: Matrix) -> str:
    """Return the newest release of a package that the tables list for a Python, "" for none."""
    listed = (
        version for row in _rows(name, matrix) if _is_for(row, python) for version in _versions(row)
    )
    stable = [v for v in listed if (read := parse_version(v)) and not read.is_prerelease]
    return max(stable, key=version_key, default="")


def _is_for(row: Row, python: str) -> bool:
    asked = row.get("python")
    allowed = parse_specifier(asked) if isinstance(asked, str) else None
    return not python or allowed is None or allowed.contains(python)
