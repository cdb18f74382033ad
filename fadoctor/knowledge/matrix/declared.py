"""What releases declare to require, by all tables that list it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.required import elsewhere
from fadoctor.model.fact import Known
from fadoctor.model.packages import FRAMEWORK_TABLE, HUGGINGFACE_HUB, TRANSFORMERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Row

_TABLES = {
    "declared-requirements": ("requires",),
    "helper-releases": ("requires", "also"),
    FRAMEWORK_TABLE: ("requires",),
}
"""Table -> its columns of requirements; what a later one says of a package counts."""


def declared(name: str, version: str, matrix: Matrix) -> dict[str, str]:
    """Return what a release of a distribution requires: name -> specifier, without its extras."""
    keys = {"package": Known(name, "asked"), "version": Known(version, "asked")}
    found = {
        each.name: str(each.specifier)
        for table, columns in _TABLES.items()
        for row in matrix.find(table, keys).rows
        for each in _requirements(row, columns)
    }
    if name == TRANSFORMERS:
        needs = matrix.find("transformers-hub-library", {"version": keys["version"]}).cell("needs")
        found |= {HUGGINGFACE_HUB: str(needs.value)} if isinstance(needs, Known) else {}
    return found


def on_platform(name: str, version: str, platform: str, matrix: Matrix) -> dict[str, str]:
    """Return of what a release declares to require that which it requires on a platform."""
    found = declared(name, version, matrix)
    left_out = set(elsewhere(name, version, platform, matrix)) if found and platform else ()
    return {other: text for other, text in found.items() if other not in left_out}


def _requirements(row: Row, columns: tuple[str, ...]) -> Iterator[Requirement]:
    for column in columns:
        if column == "requires" and row.get("in_extra") is True:
            continue
        for text in cell_words(row.get(column)):
            try:
                each = Requirement(text)
            except InvalidRequirement:
                continue
            if each.marker is None:
                yield each
