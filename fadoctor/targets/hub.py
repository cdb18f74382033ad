"""How the package kernels, in the release that is here, chooses among the builds of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.hub.choice import Habits
from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from fadoctor.matrix.query import Matrix


def habits_of(version: str, matrix: Matrix) -> Habits | None:
    """Return how a release of kernels chooses; None where nobody has read it."""
    rows = matrix.find("kernels-releases", {"version": Known(version, "kernels")})
    cells = {name: rows.cell(name) for name in Habits.__struct_fields__}
    known = {name: cell.value for name, cell in cells.items() if isinstance(cell, Known)}
    if not {"by_name", "python_only", "stable_abi", "everywhere"} <= known.keys():
        return None
    return msgspec.convert(known, Habits)
