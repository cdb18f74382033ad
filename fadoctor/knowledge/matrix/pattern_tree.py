"""The parser of regular expressions, which the standard library has under no public name."""

from __future__ import annotations

from importlib import import_module
from sys import version_info
from typing import Any

# Before Python 3.11 it was sre_parse.
PARSER: Any = import_module("re._parser" if version_info >= (3, 11) else "sre_parse")

REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
"""The names of nodes that repeat others; their argument is the least, the most and the body."""

Node = tuple[Any, Any]
"""An operation, which has a name, and its argument."""
