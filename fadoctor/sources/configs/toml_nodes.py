"""TOML as trainers have it, in the nodes that configurations are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.toml_tree import read_toml as read_tree
from fadoctor.syntax.tree import DEPTH_LIMIT, NODE_LIMIT, Node

if TYPE_CHECKING:
    from fadoctor.syntax.source import Source


def read_toml(source: Source) -> Node:
    """Return the tree; InputError with the line where it is no TOML."""
    return _Reader(source).document()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = read_tree(source)
        self.count = 0

    def document(self) -> Node:
        return self._node(self.tree.root, 0, 0)

    def _node(self, data: Node, at: int, depth: int) -> Node:
        """Return a value with the place of its key, or where it has none its own."""
        line, column = self.tree.position(at)
        self.count += 1
        if self.count > NODE_LIMIT:
            raise self.source.error(f"more than {NODE_LIMIT:,} values", line=line)
        if depth > DEPTH_LIMIT:
            raise self.source.error(f"more than {DEPTH_LIMIT} levels deep", line=line)
        value = data.value
        if isinstance(value, list):
            items = tuple(self._node(each, self.tree.offset(each), depth + 1) for each in value)
            return Node(items, line, column)
        if not isinstance(value, dict):
            return Node(value, line, column)
        is_inline = self.source.text.startswith("{", self.tree.offset(data))
        entries = {
            key: self._node(each, begin if is_inline else self._key(begin), depth + 1)
            for key, each in value.items()
            for begin in (self.tree.offset(each),)
        }
        return Node(entries, line, column)

    def _key(self, at: int) -> int:
        """Return where the line begins in which a value stands: with its key."""
        text = self.source.text
        start = text.rfind("\n", 0, at) + 1
        return start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))
