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
from fadoctor.syntax.tree import Node

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = "recipes"
_MAKE = re.compile(r"(?:gnu)?makefile(?:\.\w{1,40})?|[\w.-]{1,100}\.mk")
_JUST = re.compile(r"\.?justfile|[\w.-]{1,100}\.just")
_WINDOWS = (".bat", ".cmd", ".ps1")
_ENV = re.compile(r"\.env(?:\.[\w.-]{1,60})?|[\w.-]{1,100}\.env")
# MODEL ?= x, model := "x", export A = b
_SETS = re.compile(
    r"(?:export[ \t]{1,9})?([A-Za-z_][\w-]{0,80})[ \t]{0,9}(?::{0,3}|\?|\+)=[ \t]{0,9}([^\n]*)"
)
_MAKE_NAME = re.compile(r"\$[({]([A-Za-z_][\w-]{0,80})[)}]")
_JUST_NAME = re.compile(r"\{\{[ \t]{0,9}([A-Za-z_][\w-]{0,80})[^{}\n]{0,80}\}\}")
_BATCH_NAME = re.compile(r"%([A-Za-z_]\w{0,80})%")
_POWER_NAME = re.compile(r"\$(?:env:)?([A-Za-z_]\w{0,80})")
_PAIR = re.compile(
    r"[ \t]{0,40}(?:export[ \t]{1,9})?([A-Za-z_]\w{0,80})[ \t]{0,9}=[ \t]{0,9}([^\n]*)"
)
_BATCH_SET = re.compile(
    r"(?i)^([ \t]{0,40})set[ \t]{1,9}\"?([A-Za-z_]\w{0,80})=([^\"\n]*)\"?[ \t]{0,9}$"
)
_POWER_SET = re.compile(
    r"^([ \t]{0,40})\$(?:env:)?([A-Za-z_]\w{0,80})[ \t]{0,9}=[ \t]{0,9}([^\n]*)$"
)
_REMARK = re.compile(r"(?i)[ \t]{0,40}(?:rem\b|::)")


def recognises(source: Source) -> bool:
    """Return whether it is one, by its name."""
    base = source.base
    return base.endswith(_WINDOWS) or any(
        pattern.fullmatch(base) is not None for pattern in (_MAKE, _JUST, _ENV)
    )


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    if _ENV.fullmatch(source.base):
        return _environment(source)
    text = _windows(source) if source.base.endswith(_WINDOWS) else _recipes(source)
    commands = text_commands(source, text)
    return msgspec.structs.replace(configuration_of(source, commands), kind=KIND)


def _recipes(source: Source) -> str:
    """Return the lines of Makefiles and justfiles as a script, each where it stands.

    Variables of the file become those of the shell; heads of recipes are left out.
    """
    name = _MAKE_NAME if _MAKE.fullmatch(source.base) else _JUST_NAME
    rows = []
    is_continued = False
    for row in source.text.replace("\r", "").split("\n"):
        text = name.sub(r"${\1}", row)
        if is_continued or row[:1] in ("\t", " "):
            bare = text.lstrip()
            marks = len(bare) - len(bare.lstrip("@-+")) if not is_continued else 0
            text = " " * (len(text) - len(bare) + marks) + bare[marks:]
        elif pair := _SETS.fullmatch(text):
            value = pair[2].strip().strip("\"'").replace('"', "'")
            text = f'{pair[1].replace("-", "_")}="{value}"'
        else:
            text = ""
        is_continued = text.endswith("\\")
        rows.append(text)
    return "\n".join(rows)


def _windows(source: Source) -> str:
    """Return a batch file or PowerShell as a script of the shell, each line where it stands."""
    is_power = source.base.endswith(".ps1")
    sets, mark = (_POWER_SET, "`") if is_power else (_BATCH_SET, "^")
    name = _POWER_NAME if is_power else _BATCH_NAME
    rows = []
    for row in source.text.replace("\r", "").split("\n"):
        if pair := sets.match(row):
            value = name.sub(r"${\1}", pair[3].strip().strip("\"'")).replace("\\", "/")
            text = f'export {pair[2]}="{value}"'
        elif not is_power and _REMARK.match(row):
            text = ""
        else:
            text = name.sub(r"${\1}", row)
            is_more = text.rstrip().endswith(mark)
            text = text.rstrip().removesuffix(mark).replace("\\", "/")
            text = re.sub(
                r"(?i)^([ \t]{0,40})@?(?:call|start(?:[ \t]{1,9}/\w{1,9})?)[ \t]{1,9}", r"\1", text
            )
            text += " \\" if is_more else ""
        rows.append(text)
    return "\n".join(rows)


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
