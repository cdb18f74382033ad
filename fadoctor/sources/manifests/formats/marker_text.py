"""Environment markers that other formats write in their own way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEEPEST = 12
"""Parentheses and joined parts of a marker that may lie in each other."""

# a comparison: sys_platform == 'linux'
_COMPARISON = re.compile(
    r"""\s{0,20}(\w{1,50})\s{0,20}(===?|!=|<=|>=|<|>)\s{0,20}("[^"]{0,100}"|'[^']{0,100}')\s{0,20}"""
)
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}

_CLAUSE = re.compile(r"(===?|~=|!=|<=|>=|<|>)([^,]{1,100})")


def opposite(text: str, depth: int = DEEPEST) -> str | None:
    """Return the marker that holds where this one does not; None where it is not plain to say.

    `depth`: how many parentheses and joined parts may still lie in each other.
    """
    if not depth:
        return None
    plain = text.strip()
    for word, turned_word in ((" or ", " and "), (" and ", " or ")):
        parts = _parts(plain, word)
        if len(parts) > 1:
            turned = [opposite(part, depth - 1) for part in parts]
            return None if None in turned else turned_word.join(_grouped(filter(None, turned)))
    if plain.startswith("(") and plain.endswith(")"):
        return opposite(plain[1:-1], depth - 1)
    found = _COMPARISON.fullmatch(plain)
    if found is None or found[2] not in _OPPOSITES:
        return None
    return f"{found[1]} {_OPPOSITES[found[2]]} {found[3]}"


def _grouped(markers: Iterable[str]) -> Iterator[str]:
    """Yield markers as parts of another one: those of several parts in parentheses."""
    return (f"({each})" if " or " in each or " and " in each else each for each in markers)


def _parts(text: str, word: str) -> list[str]:
    """Return what a word joins, outside of quotes and parentheses."""
    parts, depth, quote, start = [], 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        elif not depth and text.startswith(word, at):
            parts.append(text[start:at])
            start = at + len(word)
    return [*parts, text[start:]]


def python_marker(specifier: str) -> str:
    """Return the marker for a range of Python: ``python_version >= '3.8'``."""
    found = []
    for operator, version in _CLAUSE.findall(specifier.replace(" ", "")):
        name = "python_full_version" if version.count(".") > 1 and "*" not in version else ""
        found.append(f"{name or 'python_version'} {operator} '{version}'")
    return " and ".join(found)
