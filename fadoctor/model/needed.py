"""Words that patterns need of a text, several as one text, which costs a tenth of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NEXT, _WORD = "\x1e", "\x1f"
"""What stands between groups of words, and between words."""


def joined_needs(needs: Iterable[Iterable[str]]) -> str:
    """Return what is needed as one text: for each alternative, or choice, words of which one is."""
    return _NEXT.join(_WORD.join(words) for words in needs)


def needs_in(text: str, joined: str) -> Iterator[bool]:
    """Yield for each alternative of a pattern whether a text has the words that it needs.

    It needs none where that cannot be told.
    """
    for words in joined.split(_NEXT):
        yield not words or any(each in text for each in words.split(_WORD))


def has_needed(held: Mapping[str, bool], joined: str) -> bool:
    """Return whether of each choice one word is held."""
    choices = joined.split(_NEXT)
    return all(not words or any(held[each] for each in words.split(_WORD)) for words in choices)
