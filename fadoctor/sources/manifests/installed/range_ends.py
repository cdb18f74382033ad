"""Ends of ranges of versions, as files write them."""

from __future__ import annotations

import re

_LOWER = (">=", ">", "!=")
# ==2.1.*, which conda writes as =2.1
_MINOR = re.compile(r"==(\d{1,2}\.\d{1,3})\.\*")


def minor_ends(specifier: str) -> tuple[str, ...]:
    """Return the ends of the releases that a file admits, where it names all of one minor."""
    minor = _MINOR.fullmatch(specifier)
    return (f"{minor[1]}.0", f"{minor[1]}.999") if minor else ()


def has_end(specifier: str) -> bool:
    """Return whether a specifier keeps a package from its newest release."""
    parts = [part.strip() for part in specifier.split(",") if part.strip()]
    return any(not part.startswith(_LOWER) for part in parts)
