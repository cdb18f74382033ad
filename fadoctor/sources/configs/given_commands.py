"""Commands that files other than scripts hold: a text for the shell, or a list of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs.shell_commands import Command, Script
from fadoctor.sources.configs.shell_words import Splitter, Word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.configs.source import Source

Variables = tuple[tuple[str, Word], ...]

__all__ = ["Command", "Variables", "Word", "text_commands", "word_commands",
           "words_of"]  # fmt: skip


def text_commands(
    source: Source, text: str, line: int = 1, variables: Variables = ()
) -> list[Command]:
    """Return the commands of a text that begins at a line of the file."""
    split = Splitter(source, text, line, is_all_text=line == 1).split()
    return _script(source, variables).commands(split)


def word_commands(
    source: Source, words: Iterable[Word], variables: Variables = ()
) -> list[Command]:
    """Return the command that words make, with the commands that it gives another shell."""
    return _script(source, variables).commands(list(words))


def words_of(source: Source, text: str, line: int) -> list[Word]:
    """Return the words of a text that is one command, whatever lines it is folded into."""
    split = Splitter(source, text, line, is_all_text=False).split()
    return [each for each in split if not (each.is_operator and each.text == "\n")]


def _script(source: Source, variables: Variables) -> Script:
    script = Script(source)
    script.variables = {name: [value] for name, value in variables}
    return script
