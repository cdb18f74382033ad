"""A document as data, every value with its place, whatever its syntax was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Scalar = bool | int | float | str | None

DEPTH_LIMIT = 40
"""How deep collections may lie in each other."""

NODE_LIMIT = 50_000
"""Values of one document; also how many a walk meets, where aliases share some."""


class Node(msgspec.Struct, frozen=True, eq=False):
    """A scalar, a mapping or a sequence of a document.

    Readers of configurations give the place of its key where it has one, those of manifests its
    own; and manifests keep a version such as ``3.10`` as text.
    """

    value: Value
    line: int
    """Counted from 1, as its column."""
    column: int

    @property
    def scalar(self) -> Scalar:
        """The value; None of a collection."""
        value = self.value
        return None if isinstance(value, (dict, tuple, list)) else value

    @property
    def mapping(self) -> dict[str, Node]:
        """Its entries; none where it is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> Sequence[Node]:
        """Its items; none where it is no sequence."""
        return self.value if isinstance(self.value, (tuple, list)) else ()

    def get(self, *keys: str) -> Node | None:
        """Return what lies below, by key after key; None where there is no such thing."""
        found: Node | None = self
        for key in keys:
            found = found.mapping.get(key) if found is not None else None
        return found

    def has(self, *keys: str) -> bool:
        """Return whether all of these stand in this mapping."""
        return all(key in self.mapping for key in keys)


Value = Scalar | dict[str, Node] | list[Node] | tuple[Node, ...]
"""None also stands for what no manifest needs, such as a time."""


def walk(node: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the path of every entry of mappings below, and the entry; at most `NODE_LIMIT`."""
    waiting: list[tuple[tuple[str, ...], Node]] = [((), node)]
    met = 0
    while waiting and met < NODE_LIMIT:
        path, found = waiting.pop()
        met += 1
        if path:
            yield path, found
        if len(path) < DEPTH_LIMIT:
            waiting += [((*path, key), entry) for key, entry in reversed(found.mapping.items())]


def number(text: str) -> int | float | None:
    """Return a number as YAML and JSON write it, else None."""
    if len(text) > 40 or (not text[:1].strip("+-.") and not text[1:2].isdigit()):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text) if text[-1:].isdigit() or text.endswith(".") else None
    except ValueError:
        return None
