"""Read YAML, and JSON, from outside: text, lists and tables only, sizes bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from fadoctor.manifests.tree import Node, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.manifests.source import Source
    from fadoctor.model.errors import InputError

_DEPTH_LIMIT = 32
_EVENT_LIMIT = 600_000
_ALIAS_LIMIT = 1000
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(source: Source) -> Tree:
    """Return the first document of a text; InputError where it is not what we read.

    Every plain value stays text, so that ``3.10`` and ``no`` are what they look like. Tags are
    refused. An alias is the node that it names, not a copy: a bomb of them costs nothing.
    """
    try:
        return Tree(source, _Reader(source).document())
    except UnicodeEncodeError as error:
        raise source.error("holds what is no UTF-8 text") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark is not None else 0
        raise source.error(f"no YAML: {problem}", line=line) from error


class _Reader:
    """Turns parser events into nodes.

    NOTE: not `yaml.compose`: its C form recurses without a bound.
    """

    def __init__(self, source: Source) -> None:
        self.events: Iterator[yaml.Event] = yaml.parse(source.text, Loader=_Loader)
        self.source = source
        self.count = self.aliases = 0
        self.anchors: dict[str, Node] = {}

    def next(self) -> yaml.Event:
        self.count += 1
        event = next(self.events)
        if self.count > _EVENT_LIMIT:
            raise self.error(event, f"more than {_EVENT_LIMIT} values")
        return event

    def document(self) -> Node:
        event = self.next()
        while not isinstance(event, (yaml.NodeEvent, yaml.StreamEndEvent)):
            event = self.next()
        return self.value(event, 0) if isinstance(event, yaml.NodeEvent) else Node(None, 0)

    def value(self, event: yaml.Event, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        if getattr(event, "tag", None):
            raise self.error(event, "tags are not read")
        if depth > _DEPTH_LIMIT:
            raise self.error(event, f"nested more than {_DEPTH_LIMIT} deep")
        mark = event.start_mark
        node = Node(None, mark.index if mark is not None else 0)
        if isinstance(event, yaml.ScalarEvent):
            is_null = not event.style and event.value in _NULLS
            node.value = None if is_null else event.value
        elif isinstance(event, yaml.SequenceStartEvent):
            node.value = self.sequence(depth)
        else:
            node.value = self.mapping(depth)
        if event.anchor:  # type: ignore[attr-defined]  # every node event but an alias has one
            self.anchors[event.anchor] = node  # type: ignore[attr-defined]  # as above
        return node

    def alias(self, event: yaml.AliasEvent) -> Node:
        self.aliases += 1
        if self.aliases > _ALIAS_LIMIT:
            raise self.error(event, f"more than {_ALIAS_LIMIT} aliases")
        found = self.anchors.get(event.anchor or "")
        if found is None:  # unknown, or an anchor round the alias itself: a loop
            raise self.error(event, "an alias for nothing that stands before it")
        return found

    def sequence(self, depth: int) -> list[Node]:
        items = []
        while not isinstance(event := self.next(), yaml.SequenceEndEvent):
            items.append(self.value(event, depth + 1))
        return items

    def mapping(self, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self.error(event, "a key is not plain text")
            if event.value in found:
                raise self.error(event, "this key stands twice")
            found[event.value] = self.value(self.next(), depth + 1)
        return found

    def error(self, event: yaml.Event, problem: str) -> InputError:
        mark = event.start_mark
        return self.source.error(problem, line=mark.line + 1 if mark is not None else 0)
