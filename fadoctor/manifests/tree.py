"""A structured text as data that know where they stand, whatever its syntax was."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.model.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_LIMIT = 8 << 20
"""Longest structured text that is read, in characters: the largest lock known is 3 MiB."""


class Node:
    """One value: text, number, list or table, and the character that it begins with."""

    __slots__ = ("at", "value")

    def __init__(self, value: Value, at: int) -> None:
        self.value = value
        self.at = at


Value = str | int | float | bool | list[Node] | dict[str, Node] | None
"""None also stands for what no manifest needs, such as a time."""

_KINDS = {dict: "a table", list: "a list", str: "text"}


class Tree:
    """A file's data; asks for them by type, and says where what is of another type stands."""

    def __init__(self, file: str, text: str, root: Node) -> None:
        self.file = file
        self.root = root
        self._lines = [0]
        self._text = text

    def place(self, node: Node) -> Place:
        """Return where a node begins."""
        if len(self._lines) == 1:
            self._lines = line_starts(self._text)
        line = bisect_right(self._lines, node.at)
        return Place(self.file, line, node.at - self._lines[line - 1] + 1)

    def error(self, node: Node, problem: str) -> InputError:
        """Return an error that names file, line, column and key."""
        key = key_of(self.root, node)
        return fault(self.place(node), f"`{printable(key, 200)}`: {problem}" if key else problem)

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


def line_starts(text: str) -> list[int]:
    """Return the offset of the first character of every line."""
    starts, at = [0], text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def fault(place: Place, problem: str) -> InputError:
    """Return the error for something wrong at a place."""
    return InputError(printable(str(place), 500), problem)


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
