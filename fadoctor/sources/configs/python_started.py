"""Programs that a Python script starts: ``subprocess.run([...])``, ``os.system("...")``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs.given_commands import (
    ConfigCommand,
    ConfigWord,
    text_commands,
    word_commands,
)
from fadoctor.sources.configs.shell import configuration_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.sources.configs.intent import Intent
    from fadoctor.sources.configs.python_meaning import ScriptMeaning
    from fadoctor.sources.configs.source import Source
    from fadoctor.sources.scripts.python_calls import Argument, ArgumentValue, Found

_SUBPROCESS = ("run", "Popen", "call", "check_call", "check_output", "getoutput")
_OS = ("system", "popen")
WANTED = frozenset((*_SUBPROCESS, *_OS))
_NAMES = frozenset(
    (*(f"subprocess.{name}" for name in _SUBPROCESS), *(f"os.{name}" for name in _OS))
)
OPEN = "${value}"
"""What stands for a word that only running the script would tell."""


def started_commands(source: Source, script: ScriptMeaning, found: Iterable[Found]) -> list[Intent]:
    """Return what the programs that a script starts are told."""
    commands = [command for call in found for command in _commands(source, script, call)]
    return list(configuration_of(source, commands).intents) if commands else []


def _commands(source: Source, script: ScriptMeaning, call: Found) -> Iterator[ConfigCommand]:
    given = call.argument(0, "args")
    if call.form != "call" or call.name not in _NAMES or given is None:
        return
    line = script.line_of(given.line)
    if given.value.items:  # a list, and one to which more words may be added
        words = [_word(script, item) for item in given.value.items]
        commands = word_commands(source, words) if words else []
    elif text := (given.value.text or given.value.literal):
        commands = text_commands(source, str(text), line)
        commands = [_placed(each, line) for each in commands]
    else:
        return
    for each in commands:
        yield msgspec.structs.replace(each, is_sure=each.is_sure and not call.condition)


def _word(script: ScriptMeaning, item: Argument) -> ConfigWord:
    return ConfigWord(_text(item.value), script.line_of(item.line), item.column, is_quoted=True)


def _text(value: ArgumentValue) -> str:
    return str(value.literal) if value.kind == "literal" else value.text or OPEN


def _placed(command: ConfigCommand, line: int) -> ConfigCommand:
    """Put words of a text in one line at columns that tell them apart."""
    words = tuple(
        msgspec.structs.replace(word, line=line, column=index + 1)
        for index, word in enumerate(command.words)
    )
    return msgspec.structs.replace(command, words=words)
