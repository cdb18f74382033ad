"""What a YAML parser has looked at beyond its last event, where it fails there.

A parser looks ahead for the colon of a key, up to 1,024 characters of a line. A fault in them comes
before the events, and libyaml (from 0.2.6 on) counts its own limit of depth among the faults. Our
limits are lower: what has been looked at says whether a reader would have refused it first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import yaml

_LOOKED_AT = 2_048
"""Characters that are looked at where the parser does not say how far it came."""

# [ or }, "text with \" in it", 'it''s', # to the line's end, a word of plain text, a comma or colon
_TOKEN = re.compile(
    r"(?P<open>[\[{])|(?P<close>[\]}])|(?P<text>\"(?:[^\"\\]|\\.)*\"?|'(?:[^']|'')*'?)"
    r"|(?P<comment>#[^\n]*)|(?P<word>[^\s\[\]{},:][^\s\[\]{},]*)|(?P<mark>[,:])",
    re.DOTALL,
)
# what is due before a node: the comma or colon after the last one, or the dash of an item
_DUE_IN_FLOW = re.compile(r"\s*[,:]?")
# (every part ends where it must, so that a line of comments is read in one way alone)
_DUE_IN_BLOCK = re.compile(r"(?:\s|[-?:](?=\s)|[&!]\S*(?!\S)|#[^\n]*(?!.))*(?=[\[{])")

Part = str | int | None
"""A key, an index, or None where a key is awaited."""


class Awaited(NamedTuple):
    """The node that a reader waited for."""

    path: tuple[str | int, ...] = ()
    """Of the collection that it belongs to."""
    part: Part | bool = False
    """Of that collection; False of the root."""
    is_flow: bool = False
    """Whether that collection has brackets."""


class Ahead(NamedTuple):
    """A node beyond the last event."""

    path: tuple[str | int, ...]
    """Its own; of a key that of its mapping."""
    at: int
    """The character that it begins with."""
    is_key: bool
    is_collection: bool


def nodes_ahead(
    text: str, last: yaml.Event | None, awaited: Awaited, error: Exception
) -> Iterator[Ahead]:
    """Yield the nodes between the last event and the place where the parser failed.

    Only those of flow collections: elsewhere parsers look no further than the next node.
    """
    mark = last.end_mark if last is not None else None
    start = mark.index if mark is not None else 0
    failed = getattr(error, "problem_mark", None)
    end = failed.index + 1 if failed is not None else start + _LOOKED_AT
    due = (_DUE_IN_FLOW if awaited.is_flow else _DUE_IN_BLOCK).match(text, start, max(end, start))
    if due is None:
        return
    parts: list[Part] = [*awaited.path]
    if not isinstance(awaited.part, bool):
        parts.append(awaited.part)
    yield from _walked(_TOKEN.finditer(text, due.end(), end), parts)


def _walked(tokens: Iterator[re.Match[str]], parts: list[Part]) -> Iterator[Ahead]:
    """Yield the nodes of tokens, the first of which stands at a path."""
    word = ""
    for token in tokens:
        kind, found = token.lastgroup, token[0]
        if kind == "open" or kind in {"text", "word"}:
            is_key = bool(parts) and parts[-1] is None
            path = tuple(part for part in parts if part is not None)
            yield Ahead(path, token.start(), is_key, kind == "open")
            word = found.strip("\"'")
        if kind == "open":
            parts.append(0 if found == "[" else None)
        elif kind == "close":
            del parts[-1:]
        elif found == "," and parts:
            last = parts[-1]
            parts[-1] = last + 1 if isinstance(last, int) else None
        elif found == ":" and parts and parts[-1] is None:
            parts[-1] = word
        if kind == "word" and found.endswith(":") and parts and parts[-1] is None:
            parts[-1] = word[:-1]
        if not parts:
            return


def line_at(text: str, at: int, error: Exception) -> int:
    """Return the line of a character that lies before the place where the parser failed."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return text.count("\n", 0, at) + 1
    return max(1, int(mark.line) + 1 - text.count("\n", at, mark.index))
