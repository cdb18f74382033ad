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
