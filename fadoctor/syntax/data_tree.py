"""A structured text as data that know where they stand, whatever its syntax was."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Generic, TypeVar

from fadoctor.model.place import Place
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.errors import InputError
    from fadoctor.syntax.source import Source
    from fadoctor.syntax.tree import Node

S = TypeVar("S", bound="Source")

PACKAGE_LIMIT = 30_000
"""Packages of one file that are read."""


class DataTree(Generic[S]):
    """A file's data; asks for them by type, and says where what is of another type stands."""

    def __init__(self, source: S, root: Node) -> None:
        self.source = source
        self.root = root
        self._lines = line_starts(source.text)
        self._packages = 0

    def place(self, node: Node) -> Place:
        """Return where a node begins."""
        return Place(self.source.name, node.line, node.column)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character, from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset(self, node: Node) -> int:
        """Return the character that a node begins with."""
        return self._lines[node.line - 1] + node.column - 1

    def count_package(self, node: Node) -> None:
        """Count one package; InputError where that is one too many."""
        self._packages += 1
        if self._packages > PACKAGE_LIMIT:
            raise self.error(node, f"more than {PACKAGE_LIMIT:,} packages")

    def error(self, node: Node, problem: str) -> InputError:
        """Return an error that names file, line and key."""
        key = key_of(self.root, node)
        return self.source.error(problem, line=self.place(node).line, key=key)

    def table(self, node: Node | None, *keys: str) -> dict[str, Node]:
        """Return the table at a path of keys, an empty one where there is none."""
        found = self.find(node, *keys)
        if found is None or found.value is None:
            return {}
        return self.as_table(found)

    def as_table(self, node: Node) -> dict[str, Node]:
        """Return a node's table; InputError if it is something else."""
        if not isinstance(node.value, dict):
            raise self.error(node, "should be a table")
        return node.value

    def items(self, node: Node | None, *keys: str) -> list[Node]:
        """Return the list at a path of keys, an empty one where there is none."""
        found = self.find(node, *keys)
        if found is None or found.value is None:
            return []
        if not isinstance(found.value, list):
            raise self.error(found, "should be a list")
        return found.value

    def text(self, node: Node | None, *keys: str) -> str:
        """Return the text at a path of keys, "" where there is none."""
        found = self.find(node, *keys)
        if found is None or found.value is None:
            return ""
        return self.as_text(found)

    def as_text(self, node: Node) -> str:
        """Return a node's text; InputError if it is something else."""
        if not isinstance(node.value, str):
            raise self.error(node, "should be text")
        return node.value

    def find(self, node: Node | None, *keys: str) -> Node | None:
        """Return the node at a path of keys; InputError where a step is no table."""
        for key in keys:
            if node is None or node.value is None:
                return None
            node = self.as_table(node).get(key)
        return node


def key_of(root: Node, wanted: Node) -> str:
    """Return ``project.dependencies[2]`` for a node; "" for the root."""
    seen: set[int] = set()
    todo: list[tuple[Node, str]] = [(root, "")]
    while todo:
        node, key = todo.pop()
        if node is wanted:
            return key
        if id(node) in seen:  # an alias: reached before
            continue
        seen.add(id(node))
        todo.extend(_below(node, key))
    return ""


def _below(node: Node, key: str) -> Iterator[tuple[Node, str]]:
    if isinstance(node.value, dict):
        for name, child in node.value.items():
            yield child, f"{key}.{name}" if key else name
    elif isinstance(node.value, list):
        for index, child in enumerate(node.value):
            yield child, f"{key}[{index}]"
