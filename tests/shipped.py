"""The rules of this checkout, compiled once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.matrix.compile import compile_rules

if TYPE_CHECKING:
    from fadoctor.matrix.compile import Compiled

RULES = Path(__file__).parents[1] / "rules"


@cache
def compiled() -> Compiled:
    """Return rules and tables, those that are compiled apart included, cases and problems."""
    return compile_rules(RULES)
