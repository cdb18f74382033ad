"""A fact: something that was read, something that is not there, or something nobody could read."""

from __future__ import annotations

import msgspec

Value = bool | int | str | tuple[str, ...] | dict[str, str]
"""What a known fact can hold. Versions and compute capabilities are strings, never floats."""

SOURCE_LIMIT = 240
"""Longest source, reason or excerpt that is kept, in characters."""


class Known(msgspec.Struct, frozen=True, gc=False, tag="known", tag_field="state"):
    """The fact was read."""

    value: Value
    source: str
    """The command or file that said so, with its raw excerpt where that helps."""


class Absent(msgspec.Struct, frozen=True, gc=False, tag="absent", tag_field="state"):
    """Somebody looked, and there is no such thing here."""

    source: str


class Unknown(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="unknown", tag_field="state"
):
    """Nobody could look, or what was seen could not be understood.

    It can be one of a few: what fails for each of them fails, and what holds for each holds.
    """

    reason: str
    """One line: why it is unknown, and where it helps, what would settle it."""
    source: str
    among: tuple[str, ...] = ()
    """The values of which it is one; of a range, its two ends. Empty where it can be any."""
    words: str = ""
    """How texts name what it is among: ``below 525.60.13``, ``cu118 or cu124``."""


Fact = Known | Absent | Unknown


def fact_text(fact: Fact, otherwise: str) -> str:
    """Return a Known fact as text, else `otherwise`."""
    return str(fact.value) if isinstance(fact, Known) else otherwise


def fact_words(fact: Fact) -> tuple[str, ...]:
    """Return the members of a list fact; none of any other."""
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, tuple) else ()


def fact_mapping(fact: Fact | None) -> dict[str, str]:
    """Return the entries of a Known fact that is a mapping; none of any other."""
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, dict) else {}


def printable(text: str, limit: int = SOURCE_LIMIT) -> str:
    """Return text from outside as one harmless line of at most `limit` characters.

    What cannot be seen (terminal escapes and other controls, direction marks, lone surrogates)
    becomes ``?``; line ends and tabs become spaces; what is too long ends with ``...``. No word is
    cut in two where that can be helped: the half of a secret no longer shows that it is one.
    """
    clean = text[: limit + 1].replace("\n", " ").replace("\r", " ").replace("\t", " ")
    if not clean.isprintable():
        clean = "".join(char if char.isprintable() else "?" for char in clean)
    return clean if len(clean) <= limit else clean[: _end_of_words(clean, limit - 3)] + "..."


_SEPARATORS = frozenset(" /\\:;,=&?|\"'()[]{}<>")
_LONGEST_WORD = 120


def _end_of_words(text: str, limit: int) -> int:
    """Return where the last word before a limit ends; the limit where one long word is there."""
    if limit <= 0 or text[limit] in _SEPARATORS:
        return limit
    first = max(0, limit - _LONGEST_WORD)
    return next((at for at in range(limit, first, -1) if text[at - 1] in _SEPARATORS), limit)
