"""Patterns for texts from outside: words, digits and blanks are those of ASCII.

Beside a letter of Chinese, Japanese or Korean a name of a program ends: nobody sets a blank there.
"""

from __future__ import annotations

import re
from functools import lru_cache

MOST = 16_384
"""Most patterns that are kept; Python's own cache keeps 512, and a report asks more of a log."""


@lru_cache(maxsize=MOST)
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    r"""Return a pattern whose ``\b``, ``\w``, ``\d`` and ``\s`` know no other script."""
    return re.compile(pattern, flags | re.ASCII)


# Alternatives that count groups of the others: \1 | (?(1)...)
_COUNTS_GROUPS = re.compile(r"\\[1-9]|\(\?\(")
# An escape | a class, whose first character is never its end | what nests or parts
_PIECES = re.compile(r"\\.|\[\^?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)


def alternatives(pattern: str) -> tuple[str, ...]:
    """Return the alternatives of a pattern: it matches in a text where one of them does."""
    if _COUNTS_GROUPS.search(pattern):
        return (pattern,)
    found, start, depth = [], 0, 0
    for piece in _PIECES.finditer(pattern):
        here = piece.group()
        if here == "(":
            depth += 1
        elif here == ")":
            depth -= 1
        elif here == "|" and not depth:
            found.append(pattern[start : piece.start()])
            start = piece.end()
    return (*found, pattern[start:])
