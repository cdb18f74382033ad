"""The first document of a YAML text as nodes of whatever form a room has; sizes bounded.

NOTE: from parser events, not by `yaml.compose`: its C form recurses without a bound, and a file of
100,000 brackets ends the process. An alias is the node that it names, not a copy: a bomb of
aliases takes no memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import yaml

from fadoctor.syntax.yaml_ahead import Awaited, line_at, nodes_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.errors import InputError
    from fadoctor.syntax.source import Source

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NO_KEY = "a key is not plain text"

_ENDS = (yaml.SequenceEndEvent, yaml.MappingEndEvent)

N = TypeVar("N")


class YamlReader(ABC, Generic[N]):
    """Turns parser events into nodes; what a node is, and what is refused, its heirs say."""

    depth_limit: ClassVar[int]
    """How deep collections may lie in each other."""
    event_limit: ClassVar[int]
    """Values and keys of one document."""
    alias_limit: ClassVar[int]
    plain_tags: ClassVar[frozenset[str]] = frozenset()
    """Tags that say what a value is without them; all others are refused."""

    def __init__(self, source: Source) -> None:
        """Begin with the text of a source."""
        self.source = source
        self._events: Iterator[yaml.Event] = yaml.parse(source.text, Loader=_Loader)
        self._anchors: dict[str, N] = {}
        self._aliases = 0
        self._last: yaml.Event | None = None
        self._awaited = Awaited()
        self.count = 0
        """Of events; heirs add what merges bring."""

    @abstractmethod
    def scalar(self, event: yaml.ScalarEvent) -> N:
        """Return the node of a scalar."""

    @abstractmethod
    def sequence(self, event: yaml.Event, items: list[N]) -> N:
        """Return the node of a sequence."""

    @abstractmethod
    def mapping(self, event: yaml.Event, entries: dict[str, N]) -> N:
        """Return the node of a mapping."""

    @abstractmethod
    def enter(self, entries: dict[str, N], key: yaml.ScalarEvent, node: N) -> None:
        """Put an entry into a mapping that is being read."""

    def document(self) -> N | None:
        """Return the root, None of an empty text; InputError where it is not what is read."""
        try:
            for event in self._events:
                self._last = event
                self._count(event)
                if isinstance(event, yaml.NodeEvent):
                    return self._node(event, ())
        except UnicodeEncodeError as error:
            raise self.source.error("is not UTF-8 text") from error
        except (yaml.YAMLError, RecursionError) as error:
            self._refuse_ahead(error)
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or [*str(error).splitlines(), "unknown"][0]
            line = mark.line + 1 if mark is not None else 0
            raise self.source.error(f"not valid YAML: {problem}", line=line) from error
        return None

    def _refuse_ahead(self, error: Exception) -> None:
        """Raise what a limit of ours has to say about that on which the parser has failed."""
        text = self.source.text
        for node in nodes_ahead(text, self._last, self._awaited, error):
            line = line_at(text, node.at, error)
            if node.is_key and node.is_collection:
                raise self.source.error(_NO_KEY, line=line, key=_key(node.path)) from error
            if not node.is_key and len(node.path) > self.depth_limit:
                key = _key(node.path[:4])
                raise self.source.error(self._too_deep(), line=line, key=key) from error

    def _too_deep(self) -> str:
        return f"more than {self.depth_limit} levels deep"

    def error(
        self, event: yaml.Event, problem: str, path: tuple[str | int, ...] = ()
    ) -> InputError:
        """Return the error to raise about an event below a path of keys."""
        return self.source.error(problem, line=position(event)[0], key=_key(path))

    def _count(self, event: yaml.Event) -> None:
        self.count += not isinstance(event, _ENDS)
        if self.count > self.event_limit:
            raise self.error(event, f"more than {self.event_limit:,} values")

    def _next(self) -> yaml.Event:
        event = self._last = next(self._events)
        self._count(event)
        return event

    def _node(self, event: yaml.Event, path: tuple[str | int, ...]) -> N:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        tag = getattr(event, "tag", None)
        if tag and tag not in self.plain_tags:
            raise self.error(event, f"the tag {tag[:60]}: tags are not read", path)
        if len(path) > self.depth_limit:
            raise self.error(event, self._too_deep(), path[:4])
        if isinstance(event, yaml.ScalarEvent):
            node = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.sequence(event, self._items(event, path))
        else:
            node = self.mapping(event, self._entries(event, path))
        if anchor := getattr(event, "anchor", None):
            self._anchors[anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent, path: tuple[str | int, ...]) -> N:
        self._aliases += 1
        if self._aliases > self.alias_limit:
            raise self.error(event, f"more than {self.alias_limit:,} aliases", path)
        found = self._anchors.get(event.anchor or "")
        if found is None:  # unknown, or an anchor round the alias itself: a loop
            raise self.error(event, "an alias without an earlier anchor", path)
        return found

    def _items(self, start: yaml.Event, path: tuple[str | int, ...]) -> list[N]:
        items: list[N] = []
        is_flow = bool(getattr(start, "flow_style", False))
        while True:
            self._awaited = Awaited(path, len(items), is_flow)
            event = self._next()
            if isinstance(event, yaml.SequenceEndEvent):
                return items
            items.append(self._node(event, (*path, len(items))))

    def _entries(self, start: yaml.Event, path: tuple[str | int, ...]) -> dict[str, N]:
        found: dict[str, N] = {}
        is_flow = bool(getattr(start, "flow_style", False))
        while True:
            self._awaited = Awaited(path, None, is_flow)
            event = self._next()
            if isinstance(event, yaml.MappingEndEvent):
                return found
            if not isinstance(event, yaml.ScalarEvent):
                raise self.error(event, _NO_KEY, path)
            if event.tag and event.tag not in self.plain_tags:
                raise self.error(event, f"the tag {event.tag[:60]}: tags are not read", path)
            self._awaited = Awaited(path, event.value, is_flow)
            self.enter(found, event, self._node(self._next(), (*path, event.value)))


def position(event: yaml.Event) -> tuple[int, int]:
    """Return line and column of an event, from 1."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _key(path: tuple[str | int, ...]) -> str:
    """Return ``a.b[0].c`` for a path, no more of it than a message can show."""
    key = ""
    for part in path[:6]:
        if isinstance(part, int):
            key += f"[{part}]"
        else:
            key += f".{part[:60]}" if key else part[:60]
    return key
