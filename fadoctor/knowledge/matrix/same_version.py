"""Packages that are released together, and stop beside another version of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix

TABLE = "same-version"


def of_same_version(name: str, version: str, matrix: Matrix) -> dict[str, str]:
    """Return what a release compares with its own version, where it is there, with a specifier."""
    public = version.partition("+")[0]
    keys = {"package": Known(name, "asked"), "version": Known(public, "asked")}
    rows = matrix.find(TABLE, keys).rows if public else ()
    return {str(row["needs"]): f"=={public}" for row in rows}
