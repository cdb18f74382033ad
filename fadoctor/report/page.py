"""A page of documentation: headings, paragraphs and lists, in no form yet.

`page_text` and `page_markdown` write it. Texts may come from anybody's rules: those two make them
harmless, so that whoever builds a page need not think of it.
"""

from __future__ import annotations

import msgspec

TEXT_LIMIT = 4_000
"""Longest text that one span shows, in characters."""


class Span(msgspec.Struct, frozen=True):
    """A piece of a line."""

    text: str
    code: bool = False
    """A name, a value or a command, as it is typed."""
    href: str = ""
    """Where it leads: a link, or a file relative to the page. A terminal shows only the text."""


Spans = tuple[Span, ...]


class Item(msgspec.Struct, frozen=True):
    """An entry of a list, with the entries below it."""

    spans: Spans
    items: tuple[Item, ...] = ()


class Heading(msgspec.Struct, frozen=True):
    """A heading: level 1 is the page's title."""

    text: str
    level: int = 2


class Paragraph(msgspec.Struct, frozen=True):
    """One paragraph."""

    spans: Spans


class PageList(msgspec.Struct, frozen=True):
    """A list, numbered or not."""

    items: tuple[Item, ...]
    numbered: bool = False


class PageCommand(msgspec.Struct, frozen=True):
    """What is typed, a line each."""

    lines: tuple[str, ...]


Block = Heading | Paragraph | PageList | PageCommand
Page = tuple[Block, ...]


def code(text: str) -> Span:
    """Return a name, a value or a command as it is typed."""
    return Span(text, code=True)


def spans(*parts: str | Span) -> Spans:
    """Return the parts of a line; plain strings are prose."""
    return tuple(Span(part) if isinstance(part, str) else part for part in parts)


def joined(parts: list[Span], between: str = ", ") -> Spans:
    """Return spans with a text between them."""
    found: list[Span] = []
    for part in parts:
        found += [Span(between), part] if found else [part]
    return tuple(found)
