"""Where in a file something stands."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True, order=True):
    """A line of a manifest or a configuration, as editors and annotations name it."""

    file: str
    """As it was named, or relative to the file that includes it."""
    line: int
    """Counted from 1."""
    column: int = 1
    """Counted from 1, in characters."""

    def __str__(self) -> str:
        """Return it as compilers print it: terminals and editors make a link of it."""
        return f"{self.file}:{self.line}:{self.column}"
