"""The Python of a notebook, and where its lines stand in the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fadoctor.configs.source import Source

# %matplotlib inline / !pip install x / ?help / x = !ls / y = %time f()
_MAGIC = re.compile(r"^([ \t]{0,80})(?:[%!?]|[\w, ]{1,80}= {0,4}[!%])")


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""


class _Book(msgspec.Struct):
    cells: list[_Cell] = []


class Notebook:
    """The cells of Python, one after the other, without what only IPython understands."""

    def __init__(self, text: str, cells: tuple[int, ...] = (), lines: tuple[int, ...] = ()) -> None:
        """Only store: the text, the first lines of its cells, and each line's line in the file."""
        self.text, self.cells, self.lines = text, cells, lines

    def line(self, number: int) -> int:
        """Return where a line of the text (from 1) stands in the file."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else number


def read_notebook(source: Source) -> Notebook:
    """Return the Python of a notebook; InputError where the file is no notebook.

    Notebooks are written with one line of a cell on each line; in one that is not, everything
    stands in line 1 of the file.
    """
    try:
        book = msgspec.json.decode(source.text, type=_Book)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise source.error(f"is no notebook: {error}") from error
    finder = _Finder(source.text.split("\n"))
    text: list[str] = []
    lines: list[int] = []
    cells: list[int] = []
    for cell in book.cells:
        if cell.cell_type != "code":
            continue
        content = cell.source if isinstance(cell.source, str) else "".join(cell.source)
        if not content.startswith("%%"):
            cells.append(len(text) + 1)
        for line in content.split("\n"):
            text.append("" if content.startswith("%%") else _without_magic(line))
            lines.append(finder.find(line))
    return Notebook("\n".join(text), tuple(cells), tuple(lines))


class _Finder:
    """Finds lines of cells in the file, one after the other."""

    def __init__(self, written: list[str]) -> None:
        self.written = written
        self.at = 0
        self.left = _LOOKS

    def find(self, line: str) -> int:
        """Return the line of the file (from 1) that holds a line of a cell, else the last one."""
        coded = msgspec.json.encode(line).decode()[:-1]
        end = min(self.at + _AHEAD, len(self.written)) if len(coded) > 1 and self.left > 0 else 0
        for index in range(self.at, end):
            self.left -= 1
            if coded in self.written[index]:
                self.at = index
                break
        return self.at + 1


_AHEAD = 2_000
"""How many lines of the file may lie between two lines of cells: outputs are long."""

_LOOKS = 200_000
"""How many lines are looked at in all."""


def _without_magic(line: str) -> str:
    magic = _MAGIC.match(line)
    return f"{magic[1]}pass" if magic else line
