"""Write a page for a terminal: wrapped to its width, colour only where it has some."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fadoctor.model.fact import printable
from fadoctor.report.page import (
    TEXT_LIMIT,
    Block,
    Heading,
    Item,
    Page,
    PageCommand,
    PageList,
    Paragraph,
    Spans,
)

if TYPE_CHECKING:
    from fadoctor.report.style import Style

_WORD = re.compile(r"\S+\s*|\s+")
_INDENT = 2
_NARROWEST = 20
"""Columns that a text gets at least, however deep it stands in a list."""


def render(page: Page, style: Style) -> str:
    """Return the page as text. The words alone carry the meaning; colour only repeats it."""
    writer = _Writer(style)
    for index, block in enumerate(page):
        if index and (
            isinstance(block, Heading) or isinstance(page[index - 1], PageList | PageCommand)
        ):
            writer.console.print()
        writer.block(block)
    return writer.text()


def make_console(style: Style, buffer: io.StringIO) -> Console:
    """Return a console that writes into a buffer, and that reads no markup in what it prints."""
    return Console(
        file=buffer,
        width=style.width,
        force_terminal=style.colour,
        no_color=not style.colour,
        color_system="standard" if style.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def finished(text: str, style: Style) -> str:
    """Return printed text without spaces at line ends, as ASCII where nothing else can be shown."""
    found = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    return found.encode("ascii", "replace").decode() if style.ascii_only else found


class _Writer:
    """Prints blocks into a buffer."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.buffer = io.StringIO()
        self.console = make_console(style, self.buffer)

    def text(self) -> str:
        return finished(self.buffer.getvalue(), self.style)

    def block(self, block: Block) -> None:
        match block:
            case Heading(text=text):
                self.line("", Text(printable(text, TEXT_LIMIT), style="bold"))
            case Paragraph(spans=spans):
                self.line(" " * _INDENT, _line(spans))
            case PageCommand(lines=lines):
                for typed in lines:
                    self.line(" " * (2 * _INDENT), Text(printable(typed, TEXT_LIMIT), style="cyan"))
            case listing:
                self.items(listing.items, _INDENT, numbered=listing.numbered)

    def items(self, items: tuple[Item, ...], indent: int, *, numbered: bool) -> None:
        for index, item in enumerate(items, 1):
            mark = f"{index}. " if numbered else "- "
            self.line(" " * indent + mark, _line(item.spans))
            self.items(item.items, indent + len(mark), numbered=False)

    def line(self, lead: str, text: Text) -> None:
        """Print one paragraph; wrapped lines stand below the first letter, not below its mark.

        A word that is longer than the line, such as a link, stays whole: it can be copied.
        """
        width = max(self.style.width - len(lead), _NARROWEST)
        for index, line in enumerate(_wrapped(text, width)):
            start = " " * len(lead) if index else lead
            self.console.print(Text(start) + line, soft_wrap=True)


def _wrapped(text: Text, width: int) -> list[Text]:
    """Return the lines of a text: as many whole words as fit, at least one."""
    breaks, column = [], 0
    for word in _WORD.finditer(text.plain):
        if column and column + cell_len(word[0].rstrip()) > width:
            breaks.append(word.start())
            column = 0
        column += cell_len(word[0])
    return list(text.divide(breaks))


def _line(spans: Spans) -> Text:
    """Return a line; a link shows its text only."""
    text = Text()
    for span in spans:
        text.append(printable(span.text, TEXT_LIMIT), style="cyan" if span.code else "")
    return text
