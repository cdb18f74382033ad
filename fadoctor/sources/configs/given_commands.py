"""Commands that files other than scripts hold: a text for the shell, or a list of words."""

from __future__ import annotations

import shlex
from bisect import bisect_right
from typing import TYPE_CHECKING

from fadoctor.sources.configs.shell_commands import ConfigCommand, ConfigWord, read_commands
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fadoctor.sources.configs.source import Source

Variables = tuple[tuple[str, ConfigWord], ...]

__all__ = [
    "ConfigCommand",
    "ConfigWord",
    "Variables",
    "text_commands",
    "word_commands",
    "words_of",
]  # fmt: skip


def text_commands(
    source: Source, text: str, line: int = 1, variables: Variables = ()
) -> list[ConfigCommand]:
    """Return the commands of a text that begins at a line of the file."""
    return read_commands(source, text, _values(variables), place=_below(source, text, line))


def word_commands(
    source: Source, words: Iterable[ConfigWord], variables: Variables = ()
) -> list[ConfigCommand]:
    """Return the command that words make, with the commands that it gives another shell."""
    listed = list(words)
    starts, text = [], ""
    for word in listed:
        starts.append(len(text))
        text += f"{_quoted(word.text)} "

    def place(index: int) -> tuple[int, int]:
        word = listed[max(0, bisect_right(starts, index) - 1)]
        return word.line, word.column

    return read_commands(source, text, _values(variables), place=place) if listed else []


def words_of(source: Source, text: str, line: int) -> list[ConfigWord]:
    """Return the words of a text that is one command, whatever lines it is folded into."""
    found = read_commands(source, text.replace("\n", " "), place=_below(source, text, line))
    return [word for command in found for word in command.words]


def _values(variables: Variables) -> dict[str, str | None]:
    return {name: value.text for name, value in variables}


def _quoted(text: str) -> str:
    """Return a word that a shell reads as it is, but for variables that a file leaves in it."""
    if "$" not in text or "`" in text:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _below(source: Source, text: str, line: int) -> Callable[[int], tuple[int, int]]:
    """Return what tells line and column of the file for an index of a text within it."""
    pieces = _pieces(source, text, line)
    if pieces:
        begins = [index for index, _, _ in pieces]

        def in_piece(index: int) -> tuple[int, int]:
            begin, row, column = pieces[max(0, bisect_right(begins, index) - 1)]
            return row, column + max(0, index - begin)

        return in_piece
    starts = line_starts(text)

    def place(index: int) -> tuple[int, int]:
        row = bisect_right(starts, max(0, index))
        return row + line - 1, max(0, index) - starts[row - 1] + 1

    return place


def _pieces(source: Source, text: str, line: int) -> list[tuple[int, int, int]]:
    """Return where the lines of a folded text begin: in the text, and in the file.

    None where the text keeps its lines, or the lines of the file do not come to it.
    """
    whole, at = text.rstrip(), 0
    if "\n" in whole or not 0 < line <= len(source.rows):
        return []
    found: list[tuple[int, int, int]] = []
    for number in range(line, min(len(source.rows), line + _ROWS) + 1):
        row = source.rows[number - 1].rstrip()
        piece, column = row.lstrip(), len(row) - len(row.lstrip())
        if number == line and (first := whole.split(" ", 1)[0]) in row:  # after "- " or a key
            column = row.index(first)
            piece = row[column:]
        at += len(whole[at:]) - len(whole[at:].lstrip())
        if not piece or not whole.startswith(piece, at):
            break
        found.append((at, number, column + 1))
        at += len(piece)
    return found if at >= len(whole) and len(found) > 1 else []


_ROWS = 400
