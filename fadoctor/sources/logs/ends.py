"""The beginning and the end of a long text: what most of what is said stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

_Line = TypeVar("_Line")


def ends_of(lines: Sequence[_Line], most: int) -> Sequence[_Line]:
    """Return all lines, or, of more than twice `most`, so many of each end."""
    return lines if len(lines) <= 2 * most else (*lines[:most], *lines[-most:])
