"""The commands of a shell script as readers of configurations want them: words with lines."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax import shell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.sources.configs.source import Source

COMMAND = "${command}"
"""What stands for the output of a command."""


class Word(msgspec.Struct, frozen=True):
    """A word of a command; what is left open in it is written like a variable."""

    text: str
    line: int
    column: int
    is_quoted: bool = False


class Command(msgspec.Struct, frozen=True):
    """One simple command."""

    words: tuple[Word, ...]
    variables: tuple[tuple[str, Word], ...] = ()
    """What stands before it, or what ``export`` gives others: name and value."""
    is_sure: bool = True
    """Whether it runs whenever the script does, loops being entered."""


def read_commands(
    source: Source,
    text: str,
    variables: Mapping[str, str | None] | None = None,
    *,
    line: int = 1,
) -> list[Command]:
    """Return the commands of a text that begins at a line; InputError where it is too long.

    ``${X:-y}`` stays open: what a caller sets is no business of the file.
    """
    found = shell.read_shell(text, variables, takes_defaults=False)
    places = _Places(text, line)
    if found.is_cut:
        last = found.commands[-1].words if found.commands else ()
        where = places.word(last[0]).line if last else line
        raise source.error("more commands, words or levels than are read", line=where)
    return list(_kept(places, found.commands))


def _kept(places: _Places, commands: Iterable[shell.Command]) -> Iterable[Command]:
    """Yield the commands that start something, or set variables for what is started."""
    for each in commands:
        variables = tuple(
            (one.name, places.word(one.value))
            for one in each.assignments
            if one.value is not None and each.is_exported
        )
        if each.words or variables:
            is_sure = each.depends is not shell.Depends.CONDITION
            words = tuple(map(places.word, each.words))
            yield Command(words, variables, is_sure)


class _Places:
    """Tells lines and columns."""

    def __init__(self, text: str, line: int) -> None:
        self.line = line
        self.starts = [0]
        at = text.find("\n")
        while at >= 0:
            self.starts.append(at + 1)
            at = text.find("\n", at + 1)

    def word(self, word: shell.Word) -> Word:
        """Return a word with its place."""
        at = max(0, word.at)
        row = bisect_right(self.starts, at)
        column = at - self.starts[row - 1] + 1
        return Word(_shown(word), self.line + row - 1, column, word.is_quoted)


def _shown(word: shell.Word) -> str:
    """Return a text whose open parts all look like variables."""
    parts, at = [], 0
    for start, end in word.opens:
        written = word.text[start:end]
        parts.append(word.text[at:start])
        if written.startswith(("$(", "`", "<(", ">(")):
            written = COMMAND
        elif len(written) == 2 and not written[1].isalpha():  # noqa: PLR2004 -- $1
            written = f"${{{written[1]}}}"
        parts.append(written)
        at = end
    return "".join((*parts, word.text[at:]))
