"""Elements of a page. Whatever is no `Html` is text, and is escaped: nobody can forget it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXT_LIMIT = 4_000
"""Longest text between two tags, in characters."""


class Html(str):
    """Markup that was made here."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Html:
    """Return an element; ``class_`` stands for ``class``, ``aria_label`` for ``aria-label``."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
    )
    inner = "".join(child if isinstance(child, Html) else _escaped(child) for child in children)
    return Html(f"<{name}{said}>{inner}</{name}>")


def joined(parts: Iterable[Html]) -> Html:
    """Return elements one after the other."""
    return Html("\n".join(parts))


def command(text: str) -> Html:
    """Return what is typed, as it is typed; the page's script adds a button that copies it."""
    lines = "\n".join(printable(line, TEXT_LIMIT) for line in text.splitlines())
    pre = Html(f'<pre tabindex="0">{html.escape(lines)}</pre>')
    return tag("div", pre, class_="copy")


def quoted(lines: Iterable[str]) -> Html:
    """Return lines of a log."""
    text = "\n".join(printable(line, TEXT_LIMIT) for line in lines)
    return Html(f'<pre tabindex="0">{html.escape(text)}</pre>')


def listed(items: Iterable[str]) -> Html:
    """Return a list, a line each."""
    return tag("ul", *(tag("li", item) for item in items))


def folded(summary: str, *children: Html) -> Html:
    """Return what is shown when one asks for it."""
    return tag("details", tag("summary", summary), *children)


def _escaped(text: str) -> str:
    return html.escape(printable(text, TEXT_LIMIT))
