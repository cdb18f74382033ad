"""Write a page as Markdown. What Markdown would read in a text is escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from fadoctor.model.fact import printable
from fadoctor.report.page import (
    TEXT_LIMIT,
    Block,
    Heading,
    Item,
    Page,
    PageCommand,
    Paragraph,
    Span,
    Spans,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ENTITIES = {"<": "&lt;", "|": "&#124;", "~": "&#126;", "&": "&amp;", "$": "&#36;", "=": "&#61;"}
"""What GitHub's Markdown escapes by a backslash, and the site's does not."""

_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_AT_START = re.compile(r"([0-9]{1,9})?([#+=.)-])")
_NESTED = "    "
"""How far a list in a list is indented: the site's Markdown wants four spaces."""

_LINK_SAFE = ":/?#[]@!$&'*+,;=%~"
"""Characters that a link keeps; the rest, brackets and spaces among them, is percent-encoded."""


def render(page: Page) -> str:
    """Return the page, one blank line between its blocks."""
    return "\n\n".join(_block(block) for block in page) + "\n"


def escape(text: str) -> str:
    r"""Return a text of one line that Markdown shows as it is: ``a*b`` -> ``a\*b``."""
    return _SPECIAL.sub(lambda found: _escaped(found[0]), printable(text, TEXT_LIMIT))


def _escaped(char: str) -> str:
    return _ENTITIES.get(char, f"\\{char}")


def _block(block: Block) -> str:
    match block:
        case Heading(text=text, level=level):
            return f"{'#' * level} {escape(text).strip()}"
        case Paragraph(spans=spans):
            return _line(spans)
        case PageCommand(lines=lines):
            return fenced(lines)
        case listing:
            return "\n".join(_items(listing.items, listing.numbered, ""))


def _items(items: tuple[Item, ...], numbered: bool, indent: str) -> Iterator[str]:  # noqa: FBT001 -- private
    for index, item in enumerate(items, 1):
        mark = f"{index}. " if numbered else "- "
        yield f"{indent}{mark}{_line(item.spans)}"
        yield from _items(item.items, False, f"{indent}{_NESTED}")


def _line(spans: Spans) -> str:
    """Return one line; what would begin a heading, a list or a rule is escaped too."""
    text = "".join(map(_inline, spans)).strip()
    if (found := _AT_START.match(text)) is None:
        return text
    return f"{found[1] or ''}{_escaped(found[2])}{text[found.end() :]}"


def _inline(span: Span) -> str:
    text = code_span(span.text) if span.code else escape(span.text)
    if not span.href:
        return text
    address = quote(printable(span.href, TEXT_LIMIT), safe=_LINK_SAFE)
    is_bare = span.text == span.href and not span.code
    return f"<{address}>" if is_bare else f"[{text}]({address.replace('&', '&amp;')})"


def fenced(lines: Iterable[str]) -> str:
    """Return lines as a block of code, fenced with more backticks than they hold in a row."""
    clean = [printable(line, TEXT_LIMIT) for line in lines]
    longest = max((len(run) for line in clean for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}sh", *clean, fence))


def code_span(text: str) -> str:
    """Return a code span, fenced with more backticks than the text holds in a row."""
    clean = printable(text, TEXT_LIMIT) or " "
    longest = max((len(run) for run in re.findall("`+", clean)), default=0)
    space = " " if clean[0] in "` " or clean[-1] in "` " else ""
    fence = "`" * (longest + 1)
    return f"{fence}{space}{clean}{space}{fence}"
