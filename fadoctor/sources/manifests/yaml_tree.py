"""Read YAML, and JSON, from outside: text, lists and tables only, sizes bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.manifests.tree import ManifestTree
from fadoctor.syntax.tree import Node
from fadoctor.syntax.yaml_events import YamlReader, position

if TYPE_CHECKING:
    import yaml

    from fadoctor.sources.manifests.source import Source

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))


def read_yaml(source: Source) -> ManifestTree:
    """Return the first document of a text; InputError where it is not what we read.

    Every plain value stays text, so that ``3.10`` and ``no`` are what they look like. Tags are
    refused, and keys that stand twice.
    """
    return ManifestTree(source, _Reader(source).document() or Node(None, 1, 1))


class _Reader(YamlReader[Node]):
    """Makes the nodes of manifests."""

    depth_limit, event_limit, alias_limit = 32, 450_000, 1000

    def scalar(self, event: yaml.ScalarEvent) -> Node:
        is_null = not event.style and event.value in _NULLS
        return Node(None if is_null else event.value, *position(event))

    def sequence(self, event: yaml.Event, items: list[Node]) -> Node:
        return Node(items, *position(event))

    def mapping(self, event: yaml.Event, entries: dict[str, Node]) -> Node:
        return Node(entries, *position(event))

    def enter(self, entries: dict[str, Node], key: yaml.ScalarEvent, node: Node) -> None:
        if key.value in entries:
            raise self.error(key, "this key is duplicated")
        entries[key.value] = node
