"""Where requirements stand in a line of which others are changed by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.model.place import Place


class Columns:
    """Where requirements begin in lines of which others are changed already."""

    def __init__(self) -> None:
        """Begin with nothing moved."""
        self._moved: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def of(self, place: Place) -> int:
        """Return the column at which what stood in a place is now."""
        moved = self._moved.get((place.file, place.line), ())
        return place.column + sum(by for column, by in moved if column < place.column)

    def moved(self, place: Place, by: int) -> None:
        """Note that what follows a place is so many characters further on."""
        self._moved.setdefault((place.file, place.line), []).append((place.column, by))
