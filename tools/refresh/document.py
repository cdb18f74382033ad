"""Edit single rows of a table's file and leave every other character as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from tools.refresh.errors import RefreshError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._+-]*[A-Za-z0-9])?")
_PADDING = re.compile(r",( {2,})(?=\S)")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The fast one where it is there: each change of a cell reads the file anew."""
_TEXT_TAG = "tag:yaml.org,2002:str"


@dataclass(frozen=True)
class Unread:
    """A cell that says that nobody looked, as in the files: ``{unknown: why}``."""

    why: str


Cell = str | None | Unread
"""A cell as text; None where the row does not have it: the thing is not there."""


@dataclass(frozen=True)
class Row:
    """One row, where it stands in the text, and its cells."""

    number: int
    cells: Mapping[str, Cell]
    start: int
    end: int


class Document:
    """The text of one table; every change gives another document."""

    def __init__(self, text: str) -> None:
        self.text = text
        root = yaml.compose(text, Loader=_LOADER)
        if not isinstance(root, yaml.MappingNode):
            raise RefreshError("not a table")
        self._top = {key.value: value for key, value in root.value}
        self.keys = _pairs(self._top["keys"])
        self.columns = _pairs(self._top["columns"])
        self._nodes = list(self._top["rows"].value)
        self.rows = tuple(_row(number, node) for number, node in enumerate(self._nodes))

    def with_cell(self, number: int, name: str, cell: Cell) -> Document:
        """Return the document with one cell written; None takes the cell away."""
        node = self._flow(number)
        for position, (key, value) in enumerate(node.value):
            if key.value == name and cell is None:
                return self._without(node, position)
            if key.value == name:
                return self._replaced(_start(value), _end(value), self._scalar(name, cell))
        if cell is None:
            return self
        at = _end(node.value[-1][1])
        return Document(f"{self.text[:at]}, {name}: {self._scalar(name, cell)}{self.text[at:]}")

    def with_row(self, like: int, cells: Mapping[str, Cell]) -> Document:
        """Return the document with a row below another, in whose style it is written."""
        node = self._flow(like)
        line_end = self.text.index("\n", _end(node))
        copy = f"\n  - {self.text[_start(node) : _end(node)]}"
        document = Document(self.text[:line_end] + copy + self.text[line_end:])
        for name in dict.fromkeys([*self.rows[like].cells, *cells]):
            document = document.with_cell(like + 1, name, cells.get(name))
        return document

    def with_all_rows(self, rows: Sequence[Mapping[str, str]]) -> Document:
        """Return the document with these rows alone, each on a line; none leaves ``rows: []``."""
        node = self._top["rows"]
        at = self.text.rindex("rows:", 0, _start(node))
        lines = [
            "  - {"
            + ", ".join(f"{key}: {self._scalar(key, text)}" for key, text in row.items())
            + "}"
            for row in rows
        ]
        return Document(
            self.text[:at] + "\n".join(["rows:", *lines] if lines else ["rows: []"]) + "\n"
        )

    def with_reference(self, url: str) -> Document:
        """Return the document with a package among its references, after its older versions."""
        package = url.partition("@")[0]
        known = [node for node in self._top["references"].value if f'"{package}@' in self._of(node)]
        if not known or any(f'"{url}"' in self._of(node) for node in known):
            return self
        line_end = self.text.index("\n", _start(known[-1]))
        line = f'\n  - {{type: EVIDENCE, url: "{url}"}}'
        return Document(self.text[:line_end] + line + self.text[line_end:])

    def _of(self, node: yaml.Node) -> str:
        return self.text[_start(node) : _end(node)]

    def _flow(self, number: int) -> yaml.MappingNode:
        node = self._nodes[number]
        if not isinstance(node, yaml.MappingNode) or not node.flow_style:
            raise RefreshError(f"row {number + 1} is not written as {{...}}: change it by hand")
        return node

    def _without(self, node: yaml.MappingNode, position: int) -> Document:
        key, value = node.value[position]
        if position + 1 < len(node.value):
            start, end = _start(key), _start(node.value[position + 1][0])
        else:
            start, end = _end(node.value[position - 1][1]), _end(value)
        return Document(self.text[:start] + self.text[end:])

    def _replaced(self, start: int, end: int, new: str) -> Document:
        """Replace a value; where columns were aligned by spaces, they stay so if there is room."""
        after = self.text[end:]
        if padding := _PADDING.match(after):
            spaces = max(1, len(padding.group(1)) + (end - start) - len(new))
            after = "," + " " * spaces + after[padding.end() :]
        return Document(self.text[:start] + new + after)

    def _scalar(self, name: str, cell: Cell) -> str:
        if isinstance(cell, Unread):
            return f"{{unknown: {_quoted(cell.why)}}}"
        if self.columns.get(name) in {"boolean", "integer"}:
            return str(cell)
        return _quoted(str(cell))


def _pairs(node: yaml.MappingNode) -> dict[str, str]:
    return {key.value: value.value for key, value in node.value}


def _row(number: int, node: yaml.MappingNode) -> Row:
    cells = {key.value: _cell(value) for key, value in node.value}
    return Row(number, cells, _start(node), _end(node))


def _cell(node: yaml.Node) -> Cell:
    if isinstance(node, yaml.MappingNode):
        return Unread(str(_pairs(node).get("unknown", "")))
    if not isinstance(node, yaml.ScalarNode):
        return Unread("not a scalar")
    return None if node.style is None and node.value in {"", "~", "null"} else str(node.value)


def _quoted(text: str) -> str:
    """Return text as the tables write it: plain where YAML reads it back as text."""
    if _PLAIN.fullmatch(text) and _tag(text) == _TEXT_TAG:
        return text
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


def _tag(plain: str) -> str:
    node = yaml.compose(plain, Loader=yaml.SafeLoader)
    return str(node.tag) if node else ""


def _start(node: yaml.Node) -> int:
    return int(node.start_mark.index)


def _end(node: yaml.Node) -> int:
    return int(node.end_mark.index)
