"""What comes from the main branch of its authors: it is newer than every release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version, version_key
from fadoctor.model.fact import Unknown, fact_text
from fadoctor.sources.manifests.installed.spelling import OF_SEVERAL
from fadoctor.sources.manifests.requirement_text import is_of_main

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def _newest(name: str, python: str, matrix: Matrix) -> str:
    """Return the newest release of a package that the tables list for a Python, "" for none."""
    listed = (
        version
        for table in OF_SEVERAL
        for row in matrix.tables[table].rows
        if row["package"] == name and _is_for(row, python)
        for version in cell_words(row["version"])
    )
    stable = [v for v in listed if (read := parse_version(v)) and not read.is_prerelease]
    return max(stable, key=version_key, default="")


def _is_for(row: Row, python: str) -> bool:
    asked = row.get("python")
    allowed = parse_specifier(asked) if isinstance(asked, str) else None
    return not python or allowed is None or allowed.contains(python)
