"""Commands in files of other kinds: Makefile, justfile, batch files, PowerShell, ``.env``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs import settings
from fadoctor.sources.configs.given_commands import ConfigCommand, ConfigWord, text_commands
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.shell import configuration_of
from fadoctor.sources.configs.words import Said
from fadoctor.syntax.recipes import is_recipes, recipe_script
from fadoctor.syntax.tree import Node

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = "recipes"
_IN_ORDER = (".bat", ".cmd", ".ps1")
"""Endings of scripts that run from top to bottom; the others have targets."""
_ENV = re.compile(r"\.env(?:\.[\w.-]{1,60})?|[\w.-]{1,100}\.env")
_PAIR = re.compile(
    r"[ \t]{0,40}(?:export[ \t]{1,9})?([A-Za-z_]\w{0,80})[ \t]{0,9}=[ \t]{0,9}([^\n]*)"
)


def recognises(source: Source) -> bool:
    """Return whether it is one, by its name."""
    return is_recipes(source.base) or _ENV.fullmatch(source.base) is not None


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    if _ENV.fullmatch(source.base):
        return _environment(source)
    commands = text_commands(source, recipe_script(source.base, source.text))
    are_targets = not source.base.endswith(_IN_ORDER)
    found = configuration_of(source, commands, are_apart=are_targets)
    return msgspec.structs.replace(found, kind=KIND)


def _environment(source: Source) -> Configuration:
    """Return what a file of variables says: those that are asked for, and keys of any file."""
    pairs: dict[str, Node] = {}
    variables: list[tuple[str, ConfigWord]] = []
    for line, row in enumerate(source.text.replace("\r", "").split("\n"), 1):
        pair = _PAIR.fullmatch(row)
        if pair is None:
            continue
        value = re.sub(r"[ \t]+#.*", "", pair[2]).strip().strip("\"'")
        pairs[pair[1].lower()] = Node(value, line, 1)
        variables.append((pair[1], ConfigWord(value, line, 1, is_quoted=True)))
    said = Said(source)
    document = Node(pairs, 1, 1)
    settings.say(said, document)
    settings.finished(said, document)
    commands = [ConfigCommand((), tuple(variables))]
    found = configuration_of(source, commands)
    return Configuration(source.name, KIND, (*found.intents, *said.intents))
