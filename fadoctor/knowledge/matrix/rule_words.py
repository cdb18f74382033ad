"""The words that rules hold: in messages, patterns and whatever else is written in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.packed import pack, unpack
from fadoctor.model.rule import with_written_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.rule import Knowledge, Rule

PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+"
"""A word of those that a name is put together of."""

_LETTERS = bytes(
    byte if (chr(byte).isalpha() and byte < 128) or byte >= 128 else 32 for byte in range(256)
)
"""Spaces for all bytes that are no letters."""


def words_of_rules(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the words of rules in small letters, and those that they are put together of."""
    whole: set[bytes] = set()
    for rule in rules:  # one by one: as one text they are many times as large
        encoded = msgspec.json.encode(with_written_parts(rule))
        whole.update(encoded.translate(_LETTERS).split())
    return frozenset(
        part.lower().decode("utf-8", "replace") for word in whole for part in _humps(word)
    )


def packed_words(rules: Iterable[Rule]) -> bytes:
    """Return the words of rules as they are compiled."""
    return pack(" ".join(sorted(words_of_rules(rules))))


def words_in_rules(knowledge: Knowledge) -> frozenset[str]:
    """Return the words of the rules of a knowledge base: gathered where they are not compiled."""
    return frozenset(_sorted_words(knowledge).split(" "))


def _sorted_words(knowledge: Knowledge) -> str:
    if not knowledge.words:
        return " ".join(sorted(words_of_rules(knowledge.rules)))
    return unpack(knowledge.words, str)


class RuleWords:
    """The same words, in a tenth of the memory of a set: as texts, by their first letter."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Unpack them, or gather them."""
        self._whole = f" {_sorted_words(knowledge)} "
        self._begin: dict[str, str] = {}

    def has(self, word: str) -> bool:
        """Return whether a word is one of them."""
        letter = word[:1]
        if letter not in self._begin:
            start = self._whole.find(f" {letter}")
            end = self._whole.find(" ", self._whole.rfind(f" {letter}") + 1)
            self._begin[letter] = self._whole[start : end + 1] if start >= 0 else ""
        return f" {word} " in self._begin[letter]


def _humps(word: bytes) -> Iterator[bytes]:
    """Yield a word, and the words that it is put together of: ``CausalLM``, ``Causal``, ``LM``."""
    yield word
    if not (word.islower() or word.isupper() or word.istitle()):
        yield from (part.encode() for part in re.findall(PART, word.decode("utf-8", "replace")))
