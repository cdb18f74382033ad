"""The commands of a shell script as readers of configurations want them: words with lines."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax import shell_commands as syntax
from fadoctor.syntax.shell import read_shell
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax import shell_filled_words as filled

COMMAND = "${command}"
"""What stands for the output of a command."""


class ConfigWord(msgspec.Struct, frozen=True):
    """A word of a command; what is left open in it is written like a variable."""

    text: str
    line: int
    column: int
    is_quoted: bool = False


class ConfigCommand(msgspec.Struct, frozen=True):
    """One simple command."""

    words: tuple[ConfigWord, ...]
    variables: tuple[tuple[str, ConfigWord], ...] = ()
    """What stands before it, or what ``export`` gives others: name and value."""
    is_sure: bool = True
    """Whether it runs whenever the script does, loops being entered."""
    is_called: bool = True
    """Whether it stands in no function that nothing calls."""


def read_commands(
    source: Source,
    text: str,
    variables: Mapping[str, str | None] | None = None,
    *,
    start: int = 0,
    place: Callable[[int], tuple[int, int]] | None = None,
) -> list[ConfigCommand]:
    """Return the commands of a text from an index on; InputError where it is too long.

    `place`: tells line and column of an index. ``${X:-y}`` stays open: what a caller sets is no
    business of the file.
    """
    found = read_shell(text, variables, start=start, takes_defaults=False)
    places = _Places(text, place)
    if found.is_cut:
        last = found.commands[-1].words if found.commands else ()
        where = places.word(last[0]).line if last else 0
        raise source.error("more commands, words or levels than are read", line=where)
    return list(_kept(places, found.commands))


def _kept(places: _Places, commands: Iterable[syntax.ShellCommand]) -> Iterable[ConfigCommand]:
    """Yield the commands that start something, or set variables for what is started."""
    for each in _with_options(commands):
        variables = tuple(
            (one.name, places.word(one.value))
            for one in each.assignments
            if one.value is not None and each.is_exported
        )
        if each.words or variables:
            is_sure = each.depends < syntax.Depends.CONDITION
            words = tuple(map(places.word, each.words))
            is_called = each.depends is not syntax.Depends.CALLER
            yield ConfigCommand(words, variables, is_sure, is_called)


def _with_options(commands: Iterable[syntax.ShellCommand]) -> Iterable[syntax.ShellCommand]:
    """Yield commands, with the options that a list over several lines has in lines of their own.

    ``ARGS="<newline>--bf16 True<newline>"; bash -c "train.py $ARGS"``: no program begins with
    ``--``, so they are meant for the command before them.
    """
    held: syntax.ShellCommand | None = None
    for each in commands:
        is_more = each.is_given and bool(each.words) and each.words[0].text.startswith("--")
        if is_more and held is not None and held.words:
            held = msgspec.structs.replace(held, words=(*held.words, *each.words))
            continue
        if held is not None:
            yield held
        held = each
    if held is not None:
        yield held


class _Places:
    """Tells lines and columns."""

    def __init__(self, text: str, place: Callable[[int], tuple[int, int]] | None) -> None:
        self.starts = [] if place is not None else line_starts(text)
        self.place = place or self.at

    def at(self, index: int) -> tuple[int, int]:
        row = bisect_right(self.starts, max(0, index))
        return row, max(0, index) - self.starts[row - 1] + 1

    def word(self, word: filled.FilledWord) -> ConfigWord:
        """Return a word with its place."""
        return ConfigWord(_shown(word), *self.place(word.at), word.is_quoted)


def _shown(word: filled.FilledWord) -> str:
    """Return a text whose open parts all look like variables."""
    parts, at = [], 0
    for start, end in word.opens:
        written = word.text[start:end]
        parts.append(word.text[at:start])
        if written.startswith(("$(", "`", "<(", ">(")):
            written = COMMAND
        elif len(written) == 2 and not written[1].isalpha():
            written = f"${{{written[1]}}}"
        parts.append(written)
        at = end
    return "".join((*parts, word.text[at:]))
