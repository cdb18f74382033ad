"""Dockerfiles: what the image starts (ENTRYPOINT, CMD) and the variables that it sets (ENV)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.typed import decode
from fadoctor.sources.configs.shell import configuration_of
from fadoctor.sources.configs.shell_commands import Command, Script
from fadoctor.sources.configs.shell_words import Splitter, Word

if TYPE_CHECKING:
    from fadoctor.sources.configs.intent import Configuration
    from fadoctor.sources.configs.source import Source

KIND = "dockerfile"
_NAMED = re.compile(r"dockerfile(?:\.[\w.-]{1,80})?|[\w.-]{1,120}\.dockerfile|containerfile")
# ENV A=b \
_INSTRUCTION = re.compile(
    r"^[ \t]{0,40}(FROM|ENV|CMD|ENTRYPOINT)[ \t]+((?:[^\n\\]|\\[^\n]|\\\n)*)",
    re.IGNORECASE | re.MULTILINE,
)
_PAIR = re.compile(r"([A-Za-z_]\w{0,80})=(.*)", re.DOTALL)


def recognises(source: Source) -> bool:
    """Return whether it is one, by its name."""
    return _NAMED.fullmatch(source.base) is not None


def read(source: Source) -> Configuration:
    """Return what the last stage asks for: an earlier one only builds."""
    variables: list[tuple[str, Word]] = []
    started: dict[str, list[Word]] = {}
    for found in _INSTRUCTION.finditer(source.text):
        word = found[1].upper()
        line = source.text.count("\n", 0, found.start(2)) + 1
        if word == "FROM":
            started = {}
        elif word == "ENV":
            variables += _variables(_words(source, found[2], line))
        else:
            started[word] = _started(source, found[2], line)
            if word == "ENTRYPOINT":  # it resets the CMD of the image below, not one beside it
                started.setdefault("CMD", [])
    words = [*started.get("ENTRYPOINT", []), *started.get("CMD", [])]
    script = Script(source)
    script.variables = {name: [value] for name, value in variables}
    commands = [Command((), tuple(variables)), *script.commands(words)]
    return msgspec.structs.replace(configuration_of(source, commands), kind=KIND)


def _words(source: Source, text: str, line: int) -> list[Word]:
    return Splitter(source, text, line, is_all_text=False).split()


def _variables(words: list[Word]) -> list[tuple[str, Word]]:
    """Return ``ENV A=b C=d`` and the older ``ENV A b``."""
    pairs = [(_PAIR.fullmatch(word.text), word) for word in words if not word.is_operator]
    if pairs and pairs[0][0] is None and len(words) > 1:
        return [(words[0].text, words[1])]
    return [(pair[1], msgspec.structs.replace(word, text=pair[2])) for pair, word in pairs if pair]


def _started(source: Source, text: str, line: int) -> list[Word]:
    """Return the words of a command: a list in JSON, or a line of the shell."""
    if text.lstrip().startswith("["):
        try:
            found = decode(text.replace("\\\n", "\n"), list[str])
        except (msgspec.DecodeError, RecursionError):
            return []
        if found[:1] and found[0].rpartition("/")[2] in ("sh", "bash") and len(found) > 2:
            return _words(source, found[-1], line)
        return [Word(one, _line_of(text, one, line), 1, is_quoted=True) for one in found[:500]]
    return _words(source, text, line)


def _line_of(text: str, word: str, line: int) -> int:
    """Return the line where a word of a list stands first."""
    at = text.find(f'"{word}"')
    return line + text.count("\n", 0, at) if at >= 0 else line
