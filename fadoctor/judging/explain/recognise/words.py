"""Words of texts, as they are compared where no pattern fits: small, of ASCII letters."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT_LIMIT = 20_000
"""Characters of one text that are read."""

# 1Torch, flash_attn_2_cuda: a word ends where a digit or another sign begins.
_WORD = compiled(r"[A-Za-z]{2,40}")

NEGATIONS = frozenset({
    "not", "no", "cannot", "can", "without", "unable", "never", "none", "nor", "isn", "doesn",
    "wasn", "didn", "won", "couldn", "instead", "fixed", "solved", "unless", "except",
})  # fmt: skip
"""Words that turn what a line says into its opposite."""


FAULTS = frozenset({
    "disabled", "inconsistent", "incompatible", "invalid", "mismatch", "mismatched", "missing",
    "unable", "unavailable", "undeclared", "undefined", "unexpected", "unknown", "unreachable",
    "unrecognized", "unresolved", "unsatisfied", "unsupported",
})  # fmt: skip
"""Words that say what is wrong: a name without them, or a path, says nothing of the kind."""

STATES = frozenset({
    "aborted", "crashed", "error", "errors", "exception", "fail", "fails", "failed", "failure",
    "fatal", "killed", "warning",
})  # fmt: skip
"""Words that say that something went wrong: no text is given one."""


class Word(msgspec.Struct, frozen=True, gc=False):
    """A word, and where it stands."""

    text: str
    """In small letters."""
    start: int
    end: int


def words_in(text: str, known: dict[str, str] | None = None) -> tuple[Word, ...]:
    """Return the words of a text in order; `known`: words of which many texts share one object."""
    known = {} if known is None else known
    return tuple(
        Word(known.setdefault(word := each[0].lower(), word), each.start(), each.end())
        for each in _WORD.finditer(text[:TEXT_LIMIT])
    )


def plain_words(text: str) -> Iterator[str]:
    """Yield the words of a text in small letters."""
    for found in _WORD.finditer(text[:TEXT_LIMIT]):
        yield found[0].lower()


def is_exception(word: str) -> bool:
    """Return whether a word names an exception: ImportError."""
    return word.endswith((_ANY_ERROR, "exception"))


def is_state(word: str) -> bool:
    """Return whether a word says that something went wrong: failed, ImportError."""
    return word in STATES or is_exception(word)


def is_alike(one: str, other: str) -> bool:
    """Return whether two words differ by no more than one typing error; short ones not at all.

    Of a wording the word error is alike to each name of an exception.
    """
    if one == other or (one == _ANY_ERROR and other.endswith(_ANY_ERROR)):
        return True
    if min(len(one), len(other)) >= _SHORT and _as_seen(one) == _as_seen(other):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORT or len(long) - len(short) > 1:
        return False
    if len(short) == len(long):
        differs = [at for at in range(len(short)) if short[at] != long[at]]
        if len(differs) == 1:
            return True
        swapped = len(differs) == 2 and differs[1] == differs[0] + 1
        return (
            swapped
            and short[differs[0]] == long[differs[1]]
            and short[differs[1]] == long[differs[0]]
        )
    at = next((at for at in range(len(short)) if short[at] != long[at]), len(short))
    return short[at:] == long[at + 1 :]


@lru_cache(maxsize=8_192)
def _as_seen(word: str) -> str:
    """Return a word as a program reads it off a picture: kernel as kemel."""
    return word.replace("rn", "m").replace("cl", "d").replace("vv", "w").replace("l", "i")


_ANY_ERROR = "error"
"""What a wording begins with that stands for any exception: ValueError."""

_SHORT = 5
"""Fewest letters of a word that may be misspelt."""
