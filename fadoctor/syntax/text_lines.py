"""Where the lines of a text begin."""

from __future__ import annotations


def line_starts(text: str) -> list[int]:
    """Return the offset of the first character of every line."""
    starts, at = [0], text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
