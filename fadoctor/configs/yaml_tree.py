"""Read YAML as trainers have it: plain data, anchors and merges, no tags, every value placed.

NOTE: from parser events, not by `yaml.compose`: its C form recurses without a bound, and a file of
100,000 brackets ends the process. An alias shares the tree of its anchor, so that aliases of
aliases take no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import yaml

from fadoctor.configs.tree import DEPTH_LIMIT, NODE_LIMIT, Node, Scalar, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.configs.source import Source

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_NULL = frozenset({"null", "Null", "NULL", "~", ""})


def read_yaml(source: Source) -> Node | None:
    """Return the tree of the first document, None of an empty file; InputError as it is due."""
    try:
        return _Reader(source, yaml.parse(source.text, Loader=_Loader)).document()
    except UnicodeEncodeError as error:
        raise source.error("is no UTF-8 text") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark is not None else 0
        raise source.error(f"not valid YAML: {problem}", line=line) from error


class _Reader:
    def __init__(self, source: Source, events: Iterator[yaml.Event]) -> None:
        self.source = source
        self.events = events
        self.anchors: dict[str, Node] = {}
        self.count = 0

    def document(self) -> Node | None:
        for event in self.events:
            if isinstance(event, yaml.NodeEvent):
                return self.node(event, ())
        return None

    def node(self, event: yaml.Event, path: tuple[str, ...]) -> Node:
        self._refuse(event, path)
        line, column = _position(event)
        if isinstance(event, yaml.AliasEvent):
            found = self.anchors.get(str(event.anchor))
            if found is None:
                raise self._error(event, path, "an alias of something that is not there yet")
            return found
        if isinstance(event, yaml.MappingStartEvent):
            node = Node(self._mapping(path), line, column)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = Node(self._items(path), line, column)
        else:
            node = Node(_scalar(event), line, column)
        if anchor := getattr(event, "anchor", None):
            self.anchors[str(anchor)] = node
        return node

    def _items(self, path: tuple[str, ...]) -> tuple[Node, ...]:
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, f"[{len(items)}]")))
        return tuple(items)

    def _mapping(self, path: tuple[str, ...]) -> dict[str, Node]:
        found: dict[str, Node] = {}
        merged: list[Node] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, path, "a key is not plain text")
            self._refuse(event, path)
            key, (line, column) = str(event.value), _position(event)
            value = self.node(next(self.events), (*path, key))
            if key == "<<" and not event.style:
                merged += value.items or (value,)
            else:
                found[key] = msgspec.structs.replace(value, line=line, column=column)
        for each in merged:
            self.count += len(each.mapping)
            found = {**each.mapping, **found}
        return found

    def _refuse(self, event: yaml.Event, path: tuple[str, ...]) -> None:
        self.count += 1
        if self.count > NODE_LIMIT:
            raise self._error(event, path, f"more than {NODE_LIMIT:,} values")
        if len(path) > DEPTH_LIMIT:
            raise self._error(event, path[:4], f"more than {DEPTH_LIMIT} levels deep")
        tag = getattr(event, "tag", None)
        if tag and tag != "!" and tag not in _PLAIN_TAGS:
            raise self._error(event, path, f"the tag {tag[:60]}: only plain data is read")

    def _error(self, event: yaml.Event, path: tuple[str, ...], problem: str) -> Exception:
        key = ".".join(part[:60] for part in path[:6])
        return self.source.error(problem, line=_position(event)[0], key=key)


def _position(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _scalar(event: yaml.Event) -> Scalar:
    """Return what PyYAML makes of a scalar, with the types that configurations have."""
    text = str(getattr(event, "value", ""))
    if getattr(event, "style", None):  # quoted or block text is text
        return text
    word = text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if text in _NULL:
        return None
    found = number(text)
    return text if found is None else found
