"""Read YAML as data: few types, no anchors, every value with its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from fadoctor.model.errors import RuleDataError
from fadoctor.syntax.yaml_ahead import Awaited, line_at, nodes_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_LIMIT = 8 << 20
_DEPTH_LIMIT = 24
_TOO_DEEP, _NO_KEY = "nested too deeply", "a key is not plain text"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Path = tuple[str | int, ...]


class Document:
    """The data of one file, and the line of every value."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data: Any = None
        self.lines: dict[Path, int] = {}

    def line(self, path: Path) -> int:
        """Return the line (1-based) of the value at a path, or of the nearest one above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def error(self, path: Path, problem: str) -> RuleDataError:
        """Return an error that names file, line and key path."""
        return RuleDataError(self.name, problem, line=self.line(path), key=key_path(path))


def key_path(path: Path) -> str:
    """Return ``fixes[0].steps`` for a path."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_yaml(text: str, name: str) -> Document:
    """Return the document; RuleDataError with file and line where it is not what we read.

    Resolved are only strings, integers, ``true``/``false`` and null, so that ``2.10`` and ``no``
    stay what they look like. Anchors, aliases, tags and duplicate keys are refused.
    """
    document = Document(name)
    if len(text) > SIZE_LIMIT:
        raise RuleDataError(name, f"larger than {SIZE_LIMIT >> 20} MiB")
    reader = _Reader(document, yaml.parse(text, Loader=_Loader))
    try:
        document.data = reader.document_value()
    except UnicodeEncodeError as error:
        raise RuleDataError(name, "not valid text: a lone surrogate") from error
    except (yaml.YAMLError, RecursionError) as error:
        reader.refuse_ahead(text, error)
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or [*str(error).splitlines(), "unknown"][0]
        line = mark.line + 1 if mark is not None else 0
        raise RuleDataError(name, f"not valid YAML: {problem}", line=line) from error
    return document


class _Reader:
    """Turns parser events into values and notes their lines.

    NOTE: not `yaml.compose`: its C form recurses without a bound, and a file of 100,000 brackets
    ends the process.
    """

    def __init__(self, document: Document, events: Iterator[yaml.Event]) -> None:
        self.document = document
        self.events = events
        self.last: yaml.Event | None = None
        self.awaited = Awaited()

    def next(self) -> yaml.Event:
        self.last = next(self.events)
        return self.last

    def refuse_ahead(self, text: str, error: Exception) -> None:
        """Raise what a limit of ours has to say about that on which the parser has failed."""
        for node in nodes_ahead(text, self.last, self.awaited, error):
            no_key = node.is_key and node.is_collection
            if no_key or len(node.path) > _DEPTH_LIMIT:
                path = node.path if no_key else node.path[:4]
                problem, line = _NO_KEY if no_key else _TOO_DEEP, line_at(text, node.at, error)
                key = key_path(path[:_DEPTH_LIMIT])
                raise RuleDataError(self.document.name, problem, line=line, key=key) from error

    def document_value(self) -> Any:
        found, documents = None, 0
        for event in self.events:
            self.last = event
            if isinstance(event, yaml.NodeEvent):
                documents += 1
                if documents > 1:
                    raise RuleDataError(self.document.name, "two documents", line=_line(event))
                found = self.value(event, ())
        return found

    def value(self, event: yaml.Event, path: Path) -> Any:
        self.document.lines.setdefault(path, _line(event))
        self.refuse(event, path)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.items(event, path)
        assert isinstance(event, yaml.ScalarEvent)  # noqa: S101 -- aliases were refused above
        return _scalar(event)

    def refuse(self, event: yaml.Event, path: Path) -> None:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.document.error(path, "anchors and aliases are not allowed")
        if getattr(event, "tag", None):
            raise self.document.error(path, "tags are not allowed")
        if len(path) > _DEPTH_LIMIT:
            name, key = self.document.name, key_path(path[:4])
            raise RuleDataError(name, _TOO_DEEP, line=_line(event), key=key)

    def items(self, start: yaml.SequenceStartEvent, path: Path) -> list[Any]:
        found: list[Any] = []
        while True:
            self.awaited = Awaited(path, len(found), bool(start.flow_style))
            event = self.next()
            if isinstance(event, yaml.SequenceEndEvent):
                return found
            found.append(self.value(event, (*path, len(found))))

    def mapping(self, start: yaml.MappingStartEvent, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            self.awaited = Awaited(path, None, bool(start.flow_style))
            event = self.next()
            if isinstance(event, yaml.MappingEndEvent):
                return found
            self.refuse(event, path)
            if not isinstance(event, yaml.ScalarEvent):
                raise self.document.error(path, _NO_KEY)
            key = event.value
            first = self.document.lines.get((*path, key))
            self.document.lines[(*path, key)] = _line(event)
            if key in found:
                problem = f"the key is duplicated, first in line {first}"
                raise self.document.error((*path, key), problem)
            self.awaited = Awaited(path, key, bool(start.flow_style))
            found[key] = self.value(self.next(), (*path, key))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _scalar(event: yaml.ScalarEvent) -> Any:
    text = event.value
    if event.style:  # quoted or block text is text
        return text
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _INTEGER.fullmatch(text) else text
