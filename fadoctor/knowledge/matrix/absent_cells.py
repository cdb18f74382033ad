"""Cells without a value: left out it is not known, ``absent`` says that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.yaml_reader import Path

ABSENT = "absent"
"""The word for a cell where somebody looked and there is no such thing; compiled it is null."""


def filled(row: Any, otherwise: dict[str, Any]) -> Any:
    """Return a row as it is compiled: null where it, or its table for all rows, says `absent`."""
    if not isinstance(row, dict):
        return row  # the check of the shape names it
    return {name: None if cell == ABSENT else cell for name, cell in {**otherwise, **row}.items()}


def blank_cells(rows: Any) -> Iterator[tuple[Path, str]]:
    """Yield the cells that are null: nobody could tell a forgotten value from none."""
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        for name, cell in row.items() if isinstance(row, dict) else ():
            if cell is None:
                problem = f"leave {name} out where it is not known, or write {ABSENT}"
                yield ("rows", index, name), problem
