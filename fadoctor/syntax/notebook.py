"""The Python of a notebook, and where its lines stand in the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Source(Protocol):
        """A file, read."""

        @property
        def text(self) -> str:
            """All of it."""

        def error(self, problem: str) -> Exception:
            """Return the error to raise about it."""


# %matplotlib inline / !pip install x / ?help / x = !ls / y = %time f()
_MAGIC = re.compile(r"^([ \t]{0,80})(?:[%!?]|[\w, ]{1,80}= {0,4}[!%])")
# %pip install x: what these magics start is a program of the same name
_PROGRAMS = ("%cd", "%pip", "%conda", "%mamba", "%micromamba", "%uv")


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""


class _Book(msgspec.Struct):
    cells: list[_Cell] = []


class ShellLine(msgspec.Struct, frozen=True):
    """A line that a cell gives to the shell."""

    line: int
    """Where it stands in the file."""
    text: str
    is_inner: bool = False
    """Whether it stands inside of a statement of Python, such as a condition."""


class Notebook:
    """The cells of Python, one after the other, without what only IPython understands."""

    def __init__(
        self,
        text: str,
        cells: tuple[int, ...] = (),
        lines: tuple[int, ...] = (),
        commands: tuple[ShellLine, ...] = (),
    ) -> None:
        """Only store: the text, the first lines of its cells, and each line's line in the file."""
        self.text, self.cells, self.lines = text, cells, lines
        self.commands = commands
        """What its cells give to the shell, line by line."""

    @property
    def shell(self) -> str:
        """What its cells give to the shell, each command in its line of the file."""
        return in_lines(self.commands)

    def line(self, number: int) -> int:
        """Return where a line of the text (from 1) stands in the file."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else number


def read_notebook(source: Source) -> Notebook:
    """Return the Python of a notebook; InputError where the file is no notebook.

    Notebooks are written with one line of a cell on each line; in one that is not, everything
    stands in line 1 of the file.
    """
    try:
        book = decode(source.text, _Book)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise source.error(f"is not a notebook: {error}") from error
    finder = _Finder(source.text.split("\n"))
    text: list[str] = []
    lines: list[int] = []
    cells: list[int] = []
    commands: list[ShellLine] = []
    for cell in book.cells:
        if cell.cell_type != "code":
            continue
        content = cell.source if isinstance(cell.source, str) else "".join(cell.source)
        cells.append(len(text) + 1)
        rows = content.split("\n")
        places = [finder.find(row) for row in rows]
        python, shell = _taken_apart(rows)
        text += python
        lines += places
        is_inner = False
        for place, row, kept, command in zip(places, rows, python, shell, strict=True):
            if kept:  # a magic leaves a statement in its place; what continues it leaves none
                is_inner = row[:1].isspace()
            if command:
                commands.append(ShellLine(place, command, is_inner))
    return Notebook("\n".join(text), tuple(cells), tuple(lines), tuple(commands))


def in_lines(commands: Iterable[ShellLine]) -> str:
    """Return a text with each command in its line.

    Where all stands in one line, one command comes after the other.
    """
    found: dict[int, str] = {}
    for each in commands:
        before = found.get(each.line, "")
        found[each.line] = _joined(before, each.text) if before else each.text
    return "\n".join(found.get(line, "") for line in range(1, max(found, default=0) + 1))


def _joined(before: str, text: str) -> str:
    """Return two lines of a script as one: what a line leaves open goes on without a mark."""
    bare = before.rstrip()
    if bare.endswith("\\"):
        return f"{bare[:-1]} {text.lstrip()}"
    is_open = bare.endswith(("&&", "||", "|", ";", "{", "(")) or bare.split()[-1:] in _OPENING
    return f"{bare} {text}" if is_open else f"{bare}; {text}"


_OPENING = (["then"], ["do"], ["else"], ["in"])
"""Words after which a command, or a pattern, begins."""


def _taken_apart(rows: list[str]) -> tuple[list[str], list[str]]:
    """Return the Python and the shell of a cell, line by line."""
    if rows[0].startswith("%%") and not rows[0].startswith(("%%capture", "%%time")):
        is_shell = rows[0].split()[0] in ("%%bash", "%%sh", "%%shell", "%%script")
        nothing = [""] * len(rows)
        return nothing, ["", *rows[1:]] if is_shell else nothing
    python, shell, goes_on = [], [], False
    for row in rows:
        magic = None if goes_on else _MAGIC.match(row)
        if magic is None and not goes_on:
            python.append(row)
            shell.append("")
            continue
        python.append(f"{magic[1]}pass" if magic is not None else "")
        shell.append(row if goes_on else _command(row.strip()))
        goes_on = row.rstrip().endswith("\\")
    return python, shell


def _command(row: str) -> str:
    """Return what ``!command`` and ``%env NAME=value`` give to the shell."""
    if row.startswith("!"):
        return row[1:]
    words = row.split(None, 1)
    if words[0] in _PROGRAMS:
        return row[1:]
    if words[0] in ("%env", "%set_env") and len(words) > 1:
        name, _, value = words[1].replace("=", " ", 1).partition(" ")
        return f"export {name}={value.strip()}"
    return ""


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


_AHEAD = 20_000
"""How many lines of the file may lie between two lines of cells: outputs are long."""

_LOOKS = 400_000
"""How many lines are looked at in all."""
