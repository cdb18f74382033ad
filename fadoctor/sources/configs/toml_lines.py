"""TOML as trainers have it: tables, scalars and lists of scalars, every value placed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.configs.tree import DEPTH_LIMIT, NODE_LIMIT, Node, Scalar, number

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

# A table model.attention, or one of a list
_HEADER = re.compile(r"\s{0,40}\[\[?\s{0,9}([\w.\"' -]{1,300}?)\s{0,9}\]\]?\s{0,40}(?:#.*)?")
_PAIR = re.compile(r"(\s{0,40})([\w.-]{1,200}|\"[^\"]{1,200}\")\s{0,40}=\s{0,40}(.{0,20000})")
_TEXT = re.compile(r"\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|'([^']*)'")
_ITEM = re.compile(r"\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[^,\[\]\s]{1,200}")

_Table = dict[str, "_Table | Node"]


def read_toml(source: Source) -> Node:
    """Return the tree of what can be read; a line that is none of these forms is left out.

    Of tables in a list the last one counts. InputError where there are too many lines.
    """
    rows = source.text.split("\n")
    if len(rows) > NODE_LIMIT:
        raise source.error(f"more than {NODE_LIMIT:,} lines")
    root: _Table = {}
    table = root
    for line, row in enumerate(rows, 1):
        if header := _HEADER.fullmatch(row.rstrip("\r")):
            path = [part.strip(" \"'") for part in header[1].split(".")][:DEPTH_LIMIT]
            table = _below(root, path)
        elif pair := _PAIR.fullmatch(row.rstrip("\r")):
            *path, key = pair[2].strip('"').split(".")[:DEPTH_LIMIT]
            _below(table, path)[key] = Node(_value(pair[3]), line, len(pair[1]) + 1)
    return _closed(root)


def _below(table: _Table, path: list[str]) -> _Table:
    """Return the table at a path, made where there is none."""
    for key in path:
        below = table.get(key)
        if not isinstance(below, dict):
            below = table[key] = {}
        table = below
    return table


def _value(text: str) -> Scalar | tuple[Node, ...]:
    """Return a scalar or a list of them; what is anything else is its own text."""
    if text.startswith("["):
        items = (_scalar(item[0]) for item in _ITEM.finditer(text.partition("]")[0][1:]))
        return tuple(Node(item, 1, 1) for item in items)
    return _scalar(text)


def _scalar(text: str) -> Scalar:
    if found := _TEXT.match(text):
        return found[1] if found[1] is not None else found[2]
    word = text.partition("#")[0].strip()
    if word in ("true", "false"):
        return word == "true"
    value = number(word.replace("_", ""))
    return word if value is None else value


def _closed(table: _Table) -> Node:
    entries = {
        key: _closed(entry) if isinstance(entry, dict) else entry for key, entry in table.items()
    }
    lines = [entry.line for entry in entries.values()]
    return Node(entries, min(lines, default=1), 1)
