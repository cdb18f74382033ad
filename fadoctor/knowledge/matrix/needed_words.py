"""Words that every match of a pattern holds: where a log has none of them, nobody compiles it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fadoctor.knowledge.matrix.pattern_tree import PARSER, REPEATS, Node
from fadoctor.model.needed import joined_needs
from fadoctor.syntax.patterns import alternatives
from fadoctor.syntax.simplified import simplified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


LEAST = 3
"""Fewest characters of a word: shorter ones stand in every log."""

MOST = 24
"""Most words of one choice: more are as slow as the pattern."""


class _Texts(NamedTuple):
    """The texts that are searched for words: which words say something there."""

    least: int
    """The least weight of a word: lighter ones stand in every text."""

    most: int
    """Most words of one choice: more are as slow as the pattern."""

    scripts: bool
    """Whether letters of every script count, and blanks are part of a word."""


_LOGS = _Texts(LEAST, MOST, scripts=False)
_TELLINGS = _Texts(2, 1 << 16, scripts=True)
_HEAVY = "\u2e80"
"""From here on a letter is a syllable or a word: it weighs as much as three of the others."""


def needed_words(pattern: str, known: str = "") -> tuple[str, ...]:
    """Return small-letter words without blanks, one of which every match of a pattern holds.

    Empty where that cannot be told. Words that are part of `known` say nothing new, and are left
    out. The pattern is read as one that knows no letters but those of ASCII (``re.ASCII``).
    """
    return _needed(pattern, _LOGS, known)


def needed_by_alternatives(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return for each of the `alternatives` of a pattern the words that its matches need.

    They are for texts in small letters and simplified Chinese; letters of every script count.
    """
    return tuple(_needed(simplified(each), _TELLINGS) for each in alternatives(pattern))


def joined_alternatives(pattern: str) -> str:
    """Return the same as one text, as a table has it."""
    return joined_needs(needed_by_alternatives(pattern))


@cache  # a pattern is in several rows and rules, and each is parsed in Python
def _needed(pattern: str, texts: _Texts, known: str = "") -> tuple[str, ...]:
    try:
        nodes = list(PARSER.parse(pattern, re.ASCII))
    except (re.error, OverflowError, RecursionError):
        return ()
    found = _choices(nodes, texts)
    return _rarest(choice for choice in found if not any(each in known for each in choice))


def _weight(word: str) -> int:
    return sum(3 if letter >= _HEAVY else 1 for letter in word)


def _rarest(choices: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return max(choices, key=lambda words: (min(map(_weight, words)), -len(words)), default=())


def _choices(nodes: list[Node], texts: _Texts) -> Iterator[tuple[str, ...]]:
    """Yield choices of words: of each, one is in every match of a sequence."""
    run = ""
    for operation, argument in _flat(nodes):
        name = operation.name
        letter = _letter(name, argument, texts)
        if letter:
            run += letter
            continue
        if name in ("AT", "ASSERT_NOT"):
            continue
        if name == "ASSERT":
            yield from _choices(list(argument[1]), texts)
            continue
        yield from _pieces(run, texts)
        run = ""
        if name == "BRANCH":
            yield from _of_branches(argument[1], texts)
        elif name in REPEATS and argument[0] > 0:
            yield from _choices(list(argument[2]), texts)
        elif name == "ATOMIC_GROUP":
            yield from _choices(list(argument), texts)
    yield from _pieces(run, texts)


def _of_branches(branches: list[Any], texts: _Texts) -> Iterator[tuple[str, ...]]:
    found = [_rarest(_choices(list(branch), texts)) for branch in branches]
    words = {word for words in found for word in words}
    if all(found) and len(words) <= texts.most:
        yield tuple(sorted(words))


def _pieces(run: str, texts: _Texts) -> Iterator[tuple[str, ...]]:
    words = [run] if texts.scripts else run.split()
    yield from ((word,) for word in words if _weight(word.strip()) >= texts.least)


def _letter(name: str, argument: Any, texts: _Texts) -> str:
    """Return the one character, in small, that a node stands for."""
    if name == "LITERAL":
        return chr(argument).lower() if argument < 128 or texts.scripts else ""
    if name == "IN" and all(kind.name == "LITERAL" for kind, _ in argument):
        letters = {_letter(kind.name, each, texts) for kind, each in argument}
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _flat(nodes: list[Node]) -> Iterator[Node]:
    for operation, argument in nodes:
        if operation.name == "SUBPATTERN":
            yield from _flat(list(argument[3]))
        else:
            yield operation, argument
