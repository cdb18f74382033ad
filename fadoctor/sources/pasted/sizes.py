"""Sizes of memory as tools print them, in bytes: all of these tools divide by 1,024."""

from __future__ import annotations

from fadoctor.syntax.patterns import compiled

_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}

# 49140 MiB | 24564MiB | 14.741 GB | 79.25GB | 25149440(0x17fc000) KB | 17094475776
_SIZE = compiled(
    r"(?P<number>\d{1,15}(?:\.\d{1,4})?)(?:\(0x[0-9a-f]{1,16}\))? ?(?P<unit>[KkMmGgTt]?)i?[Bb]?"
)
LEAST, MOST = 1 << 28, 1 << 44
"""What a GPU can have: 256 MiB is none of today's."""


def size_of(text: str) -> int | None:
    """Return the memory of a GPU in bytes; None for what is no size, or that of no GPU."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    size = int(float(found["number"]) * (1 << _UNITS[found["unit"].lower()]))
    return size if LEAST <= size <= MOST else None
