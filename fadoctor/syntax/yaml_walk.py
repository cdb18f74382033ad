"""One way down a tree of YAML: each mapping once, with what the mappings above it have said."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fadoctor.syntax.tree import DEPTH_LIMIT, NODE_LIMIT, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

S = TypeVar("S")


def descend(
    document: Node, state: S, enter: Callable[[Node, str, S], S]
) -> Iterator[tuple[Node, S]]:
    """Yield each mapping with its state, in the order of the file, outer ones first.

    `enter` makes the state of a mapping of that above it; it is given the key that leads to it, or
    to the list in which it stands. An alias leads to what was read before: it is left out. At most
    `NODE_LIMIT` mappings and lists are met, `DEPTH_LIMIT` deep.
    """
    waiting: list[tuple[Node, str, S, int]] = [(document, "", state, 0)]
    met = 0
    seen: set[int] = set()
    while waiting and met < NODE_LIMIT:
        node, key, held, depth = waiting.pop()
        met += 1
        if id(node.value) in seen:
            continue
        seen.add(id(node.value))
        if node.mapping:
            held = enter(node, key, held)
            yield node, held
        if depth >= DEPTH_LIMIT:
            continue
        below = [*node.mapping.items(), *((key, item) for item in node.items)]
        waiting += [
            (each, name, held, depth + 1)
            for name, each in reversed(below)
            if isinstance(each.value, dict | tuple)
        ]
