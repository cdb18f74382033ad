"""Dockerfiles: what the image starts (ENTRYPOINT, CMD) and the variables that it sets (ENV)."""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.typed import decode
from fadoctor.sources.configs.intent import OWN_IMAGE
from fadoctor.sources.configs.shell import configuration_of
from fadoctor.sources.configs.shell_commands import ConfigCommand, ConfigWord, read_commands
from fadoctor.syntax.dockerfile import Instruction, read_instructions
from fadoctor.syntax.loose_words import pairs, read_words

if TYPE_CHECKING:
    from fadoctor.sources.configs.intent import Configuration
    from fadoctor.sources.configs.source import Source

KIND = "dockerfile"
_NAMED = re.compile(r"dockerfile(?:\.[\w.-]{1,80})?|[\w.-]{1,120}\.dockerfile|containerfile")
_LIST_LIMIT = 500


def recognises(source: Source) -> bool:
    """Return whether it is one, by its name."""
    return _NAMED.fullmatch(source.base) is not None


class _Stage(msgspec.Struct):
    """What an image is told so far."""

    variables: dict[str, tuple[ConfigWord, str | None]]
    """Where each is set, and its value where that is known."""
    started: dict[str, Instruction]


def read(source: Source) -> Configuration:
    """Return what the last stage asks for: an earlier one only builds."""
    stages: dict[str, _Stage] = {}
    stage = _Stage({}, {})
    for each in read_instructions(source):
        if each.keyword == "FROM":
            stage = _begun(each, stages)
        elif each.keyword == "ENV":
            _set(each, stage)
        elif each.keyword in {"CMD", "ENTRYPOINT"}:
            stage.started[each.keyword] = each
            if each.keyword == "ENTRYPOINT":  # it resets the CMD of the image below
                stage.started.pop("CMD", None)
    said = tuple((name, word) for name, (word, _) in stage.variables.items())
    commands = [ConfigCommand((), said), *_commands(source, stage)]
    found = configuration_of(source, commands)
    return msgspec.structs.replace(found, kind=KIND, image=OWN_IMAGE)


def _begun(each: Instruction, stages: dict[str, _Stage]) -> _Stage:
    """Return a new stage: on an image that nobody sees, or on an earlier one."""
    words = [word.text.lower() for word in read_words(each.text.text, {}, each.start)]
    words = [word for word in words if not word.startswith("--")]
    below = stages.get(words[0]) if words else None
    stage = _Stage({}, {}) if below is None else _Stage(dict(below.variables), dict(below.started))
    stages[words[-1] if words else ""] = stage
    return stage


def _word(each: Instruction, text: str, at: int) -> ConfigWord:
    place = each.text.place(at)
    return ConfigWord(text, place.line, place.column, is_quoted=True)


def _set(each: Instruction, stage: _Stage) -> None:
    known = {name: value for name, (_, value) in stage.variables.items()}
    for name, word in pairs(read_words(each.text.text, known, each.start)) or ():
        value = None if word.is_open else word.text
        stage.variables[name] = (_word(each, word.text, word.at), value)


def _commands(source: Source, stage: _Stage) -> list[ConfigCommand]:
    """Return what is started: an ENTRYPOINT that is a line of the shell takes no CMD."""
    entry, given = stage.started.get("ENTRYPOINT"), stage.started.get("CMD")
    known = {name: value for name, (_, value) in stage.variables.items()}
    lists = [_list(each) for each in (entry, given) if each is not None]
    if entry is not None and (lists[0] is None or len(lists) == 1 or lists[1] is None):
        given = None
        lists = lists[:1]
    first = entry or given
    if first is None:
        return []
    if lists[0] is None:

        def place(index: int) -> tuple[int, int]:
            found = first.text.place(index)
            return found.line, found.column

        return read_commands(source, first.text.text, known, start=first.start, place=place)
    return _of_list(source, [word for each in lists for word in each or ()])


def _of_list(source: Source, words: list[ConfigWord]) -> list[ConfigCommand]:
    """Return what a list starts: a program, or a shell with a text."""
    quoted = [shlex.quote(word.text) for word in words]
    starts = [0, *accumulate(len(each) + 1 for each in quoted)]

    def place(index: int) -> tuple[int, int]:
        at = min(bisect_right(starts, index), len(words)) - 1
        inside = max(0, index - starts[at] - quoted[at].startswith("'"))
        return words[at].line, words[at].column + (inside + 1 if inside else 0)

    return read_commands(source, " ".join(quoted), {}, place=place) if words else []


def _list(each: Instruction) -> list[ConfigWord] | None:
    """Return the words of a list in JSON; None of a line of the shell."""
    text = each.text.text[each.start :]
    if not text.lstrip().startswith("["):
        return None
    try:
        found = decode(text.strip(), list[str])
    except (msgspec.DecodeError, RecursionError):
        return None
    words, at = [], each.start
    for one in found[:_LIST_LIMIT]:
        here = each.text.text.find(f'"{one}"', at)
        at = here if here >= 0 else at
        words.append(_word(each, one, at))
    return words
