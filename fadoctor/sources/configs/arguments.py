"""The arguments of a command line as a document, so that a framework's own reader reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs.source import Source
from fadoctor.syntax.tree import Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.configs.shell_commands import ConfigWord

# --attn_implementation, --ds.param_dtype, -tp, --dtype=half
_OPTION = re.compile(r"--?([A-Za-z][\w.-]{0,120})(?:=(.*))?", re.DOTALL)
# actor_rollout_ref.model.path=x, +a.b=c, stage=sft
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w.]{0,200})=(.*)", re.DOTALL)
# --model_args pretrained=x,dtype=bfloat16
_HOLDS_PAIRS = re.compile(r"--[\w-]{0,40}(?:args|kwargs)(?:=.*)?", re.DOTALL)
# pretrained=x,dtype=bfloat16,${MORE},generation={temperature:0.6,top_p:1}
_PAIR = re.compile(
    r"(?:([A-Za-z_]\w{0,80})=((?:\{[^{}]{0,400}\}|[^,={}]){0,400})|\$\{?\w{1,80}\}?)(?:,|$)"
)
_DEPTH_LIMIT = 12
_JSON_LIMIT = 8_000

Tree = dict[str, "Tree | Node"]


class Arguments(Source, frozen=True, dict=True):
    """A source whose document is what a command line says."""

    tree: Node = msgspec.field(default_factory=lambda: Node({}, 1, 1))

    def document(self) -> Node | None:
        """Return the arguments as a mapping: dotted names are mappings in mappings."""
        return self.tree


def read_arguments(
    source: Source, words: Iterable[ConfigWord]
) -> tuple[Arguments, tuple[ConfigWord, ...]]:
    """Return options and overrides as a document, and what is neither of them.

    An option without a value is true. Few take several: for the others what follows the first is a
    word of its own.
    """
    held: list[tuple[str, ConfigWord, list[ConfigWord]]] = []
    loose: list[ConfigWord] = []
    for word in words:
        if _MORE.fullmatch(word.text):
            loose.append(word)
        elif option := _OPTION.fullmatch(word.text):
            value = [] if option[2] is None else [_text(word, option[2])]
            held.append((option[1].replace("-", "_"), word, value))
        elif held and _takes_pairs(held[-1], word):
            held[-1][2].append(word)
        elif len(pairs := _pairs(word.text)) > 1:
            held += [(key, word, [_text(word, value)]) for key, value in pairs.items()]
        elif (override := _OVERRIDE.fullmatch(word.text)) and "://" not in word.text:
            held.append((override[1], word, [_text(word, override[2])]))
        elif held and _takes(held[-1], word):
            held[-1][2].append(word)
        else:
            loose.append(word)
    tree: Tree = {}
    for key, word, values in held:
        _put(tree, key.split(".")[:_DEPTH_LIMIT], _node(word, values))
    first = held[0][1] if held else None
    place = (first.line, first.column) if first is not None else (1, 1)
    return Arguments(source.name, "", _closed(tree, place)), tuple(loose)


# ${ARGS...}: what a script may add to a variable
_MORE = re.compile(r"\$\{\w{1,100}\.\.\.\}")
_LISTS = ("target_modules", "lora_target", "modules_to_save")
"""Endings of options that take several values."""


def _takes(option: tuple[str, ConfigWord, list[ConfigWord]], word: ConfigWord) -> bool:
    """Return whether a word is a value of an option: one written with ``=`` has it."""
    key, written, values = option
    if "=" in written.text or (word.text in CALLERS and not word.is_quoted):
        return False
    return not values or key.endswith(_LISTS)


def _takes_pairs(option: tuple[str, ConfigWord, list[ConfigWord]], word: ConfigWord) -> bool:
    """Return whether a word is the list of pairs that an option waits for."""
    _, written, values = option
    return (
        not values and _HOLDS_PAIRS.fullmatch(written.text) is not None and bool(_pairs(word.text))
    )


def _pairs(text: str) -> dict[str, str]:
    """Return the pairs of ``a=b,c=d``, or nothing where a part is none; a variable is skipped."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        part = _PAIR.match(text, at)
        if part is None or len(found) > _PAIR_LIMIT:
            return {}
        if part[1]:
            found[part[1]] = part[2]
        at = part.end()
    return found


_PAIR_LIMIT = 100


CALLERS = ("${@}", "${*}")
"""Arguments of the script's own caller."""


def _text(word: ConfigWord, text: str) -> ConfigWord:
    return msgspec.structs.replace(word, text=text)


def _node(option: ConfigWord, values: list[ConfigWord]) -> Node:
    """Return the value of an option, at the place of its name."""
    if not values:
        return Node(value=True, line=option.line, column=option.column)
    if len(values) > 1:
        items = tuple(Node(one.text, one.line, one.column) for one in values)
        return Node(items, option.line, option.column)
    return _value(values[0].text, option)


def _value(text: str, option: ConfigWord) -> Node:
    """Return a text, or a mapping: ``--attention-config '{"backend": "X"}'``, ``a=b,c=d``."""
    if text.startswith("{") and len(text) < _JSON_LIMIT:
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            found = None
        if isinstance(found, dict):
            tree: Tree = {}
            for key, value in found.items():
                if isinstance(value, bool | int | float | str):
                    tree[str(key)] = Node(value, option.line, option.column)
            return _closed(tree, (option.line, option.column))
    if _HOLDS_PAIRS.fullmatch(option.text) and (pairs := _pairs(text)):
        given: Tree = {key: Node(value, option.line, option.column) for key, value in pairs.items()}
        return _closed(given, (option.line, option.column))
    return Node(text, option.line, option.column)


def _put(tree: Tree, path: list[str], node: Node) -> None:
    """Put a node at a path; what was said before is overruled."""
    for key in path[:-1]:
        below = tree.get(key)
        if not isinstance(below, dict):
            below = tree[key] = {}
        tree = below
    tree[path[-1]] = node


def _closed(tree: Tree, place: tuple[int, int]) -> Node:
    """Return mappings in mappings as nodes; at most as deep as dotted names are long."""
    entries = {
        key: _closed(entry, place) if isinstance(entry, dict) else entry
        for key, entry in tree.items()
    }
    return Node(entries, *place)
