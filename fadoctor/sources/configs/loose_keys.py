"""Files of no format that is read, line by line: gin, Jsonnet, HCL, INI and their like.

Only keys are read that mean the same in any file, and a note says in which lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.configs import settings
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.words import Said
from fadoctor.syntax.tree import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.configs.source import Source

KIND = "settings"
_SUFFIXES = (
    ".gin", ".jsonnet", ".libsonnet", ".hcl", ".ini", ".cfg", ".conf", ".properties", ".cue",
)  # fmt: skip
# train.torch_dtype = "bfloat16", attn_implementation: 'sdpa', "bf16": true
_PAIR = re.compile(
    r"[\"']?([A-Za-z_][\w.-]{0,80})[\"']?[ \t]{0,9}[:=][ \t]{0,9}[\"']?([\w.+-]{1,60})"
)
_REMARK = re.compile(r"^[ \t]{0,40}(?:#|//|;)")
_LINE_LIMIT, _LENGTH_LIMIT = 20_000, 2_000


def recognises(source: Source) -> bool:
    """Return whether it has a key that means the same everywhere."""
    return source.base.endswith(_SUFFIXES) and bool(_met(source, Said(source)))


def read(source: Source) -> Configuration:
    """Return what its keys say."""
    said = Said(source)
    note = settings.recognised(said, _met(source, said))
    settings.finished(said, Node({}, 1, 1))
    return Configuration(source.name, KIND, tuple(said.intents), notes=(note,))


def _met(source: Source, said: Said) -> tuple[int, ...]:
    pairs = {key: node for key, node in _pairs(source.text) if settings.knows(key)}
    return settings.say(said, Node(pairs, 1, 1))


def _pairs(text: str) -> Iterator[tuple[str, Node]]:
    """Yield the keys of each line, without what they belong to, with their values."""
    for line, row in enumerate(text.split("\n")[:_LINE_LIMIT], 1):
        if _REMARK.match(row):
            continue
        for found in _PAIR.finditer(row[:_LENGTH_LIMIT]):
            word = found[2]
            value: bool | str = word.lower() == "true" if word.lower() in _SWITCHES else word
            yield found[1].rpartition(".")[2], Node(value, line, found.start(1) + 1)


_SWITCHES = ("true", "false")
