"""Lists of words that patterns of symptoms refer to by name: ``{our-stack}``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.rule import Table

TABLE = "log-words"
PLACES = "situations"
"""The table whose places are lists of words, too: each by its name, as ``{on-wsl}``."""

# {our-stack}; the number of a repetition, {0,200}, begins with a digit
NAMED = re.compile(r"(?<!\\)\{([a-z][a-z0-9-]{2,40})\}")

_KEYS = ("near", "same_line", "absent", "others", "survived", "tried", "logged", "also", "unlogged")


def words_of(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the lists by name, each as a pattern."""
    rows = tables[TABLE].rows if TABLE in tables else ()
    places = tables[PLACES].rows if PLACES in tables else ()
    return words_in(rows) | words_in(places)


def words_in(rows: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Return what rows of either table stand for, by name."""
    keys = (("name", "pattern"), ("situation", "shows"))
    return {
        str(row[name]): str(row[pattern])
        for row in rows
        for name, pattern in keys
        if name in row and pattern in row
    }


def spell_out(entry: dict[str, Any], words: Mapping[str, str]) -> str:
    """Put the lists in the place of their names; return the first name that there is not."""
    missing: list[str] = []

    def spelt(pattern: Any) -> Any:
        return NAMED.sub(put, pattern) if isinstance(pattern, str) else pattern

    def put(found: re.Match[str]) -> str:
        if found[1] not in words:
            missing.append(found[1])
        return f"(?:{words.get(found[1], '')})"

    if "pattern" in entry:
        entry["pattern"] = spelt(entry["pattern"])
    for key in _KEYS:
        if isinstance(entry.get(key), list):
            entry[key] = [spelt(pattern) for pattern in entry[key]]
    return next(iter(missing), "")
