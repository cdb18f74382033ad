"""Words that every match of a pattern holds: where a log has none of them, nobody compiles it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.pattern_tree import PARSER, REPEATS, Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


LEAST = 3
"""Fewest characters of a word: shorter ones stand in every log."""

MOST = 24
"""Most words of one choice: more are as slow as the pattern."""


def needed_words(pattern: str, known: str = "") -> tuple[str, ...]:
    """Return small-letter words without blanks, one of which every match of a pattern holds.

    Empty where that cannot be told. Words that are part of `known` say nothing new, and are left
    out. The pattern is read as one that knows no letters but those of ASCII (``re.ASCII``).
    """
    try:
        nodes = list(PARSER.parse(pattern, re.ASCII))
    except (re.error, OverflowError, RecursionError):
        return ()
    return _rarest(choice for choice in _choices(nodes) if not any(x in known for x in choice))


def _rarest(choices: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return max(choices, key=lambda words: (min(map(len, words)), -len(words)), default=())


def _choices(nodes: list[Node]) -> Iterator[tuple[str, ...]]:
    """Yield choices of words: of each, one is in every match of a sequence."""
    run = ""
    for operation, argument in _flat(nodes):
        name = operation.name
        letter = _letter(name, argument)
        if letter:
            run += letter
            continue
        if name in ("AT", "ASSERT_NOT"):
            continue
        if name == "ASSERT":
            yield from _choices(list(argument[1]))
            continue
        yield from _pieces(run)
        run = ""
        if name == "BRANCH":
            yield from _of_branches(argument[1])
        elif name in REPEATS and argument[0] > 0:
            yield from _choices(list(argument[2]))
        elif name == "ATOMIC_GROUP":
            yield from _choices(list(argument))
    yield from _pieces(run)


def _of_branches(branches: list[Any]) -> Iterator[tuple[str, ...]]:
    found = [_rarest(_choices(list(branch))) for branch in branches]
    words = {word for words in found for word in words}
    if all(found) and len(words) <= MOST:
        yield tuple(sorted(words))


def _pieces(run: str) -> Iterator[tuple[str, ...]]:
    yield from ((piece,) for piece in run.split() if len(piece) >= LEAST)


def _letter(name: str, argument: Any) -> str:
    """Return the one character, in small, that a node stands for."""
    if name == "LITERAL":
        return chr(argument).lower() if argument < 128 else ""
    if name == "IN" and all(kind.name == "LITERAL" for kind, _ in argument):
        letters = {_letter(kind.name, each) for kind, each in argument}
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _flat(nodes: list[Node]) -> Iterator[Node]:
    for operation, argument in nodes:
        if operation.name == "SUBPATTERN":
            yield from _flat(list(argument[3]))
        else:
            yield operation, argument
