"""Read YAML as trainers have it: plain data, anchors and merges, no tags, every value placed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.syntax.tree import DEPTH_LIMIT, NODE_LIMIT, Node, Scalar, number
from fadoctor.syntax.yaml_events import YamlReader, position
from fadoctor.syntax.yaml_templates import without_templates

if TYPE_CHECKING:
    import yaml

    from fadoctor.syntax.source import Source

_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_NULL = frozenset({"null", "Null", "NULL", "~", ""})
_MERGE = "<<"


def read_yaml(source: Source) -> Node | None:
    """Return the tree of the first document, None of an empty file; InputError as it is due.

    Of a key that is duplicated the last counts, as PyYAML has it. Where the text is a template of
    YAML, its values are open.
    """
    try:
        return _Reader(source).document()
    except InputError:
        text = without_templates(source.text)
        if text == source.text:
            raise
        with suppress(InputError):
            return _Reader(_Made(source.name, text)).document()
        raise


class _Made(msgspec.Struct, frozen=True):
    """What a template makes, as far as it is known."""

    name: str
    text: str

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        """Return the error to raise about it."""
        return InputError(self.name, problem, line=line, key=key)


class _Reader(YamlReader[Node]):
    """Makes typed nodes, with the place of their key."""

    depth_limit, event_limit, alias_limit = DEPTH_LIMIT, NODE_LIMIT, NODE_LIMIT
    plain_tags = _PLAIN_TAGS | {"!", "tag:yaml.org,2002:python/tuple"}  # it is read as a list

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._merged: dict[int, list[Node]] = {}

    def scalar(self, event: yaml.ScalarEvent) -> Node:
        return Node(_scalar(event), *position(event))

    def sequence(self, event: yaml.Event, items: list[Node]) -> Node:
        return Node(tuple(items), *position(event))

    def mapping(self, event: yaml.Event, entries: dict[str, Node]) -> Node:
        for each in self._merged.pop(id(entries), ()):
            self.count += len(each.mapping)
            entries = {**each.mapping, **entries}
        return Node(entries, *position(event))

    def enter(self, entries: dict[str, Node], key: yaml.ScalarEvent, node: Node) -> None:
        if key.value == _MERGE and not key.style:
            self._merged.setdefault(id(entries), []).extend(node.items or (node,))
            return
        line, column = position(key)
        entries[key.value] = msgspec.structs.replace(node, line=line, column=column)


def _scalar(event: yaml.ScalarEvent) -> Scalar:
    """Return what PyYAML makes of a scalar, with the types that JSON has, too."""
    text = str(event.value)
    if event.style:  # quoted or block text is text
        return text
    word = text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if text in _NULL:
        return None
    found = number(text)
    return text if found is None else found
