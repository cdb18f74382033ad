"""Patterns for texts from outside: words, digits and blanks are those of ASCII.

Beside a letter of Chinese, Japanese or Korean a name of a program ends: nobody sets a blank there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from fadoctor.syntax.held_words import held_words
from fadoctor.syntax.sought_words import sought_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.syntax.held_words import HeldWords

MOST = 16_384
"""Most patterns that are kept; Python's own cache keeps 512, and a report asks more of a log."""

LONG = 2_000
"""Characters from which on a text is looked through once for each word, whoever asks for it."""

BEHIND = 256
"""Characters before a part of a text that a match in it may look back at."""

LONGEST, KEPT = 150_000, 2
"""Characters of such a text at most, and how many of them are remembered."""

_ASCII, _IGNORECASE = int(re.ASCII), int(re.IGNORECASE)
_FOLDS = re.compile(r"\(\?[a-z]*i")


@lru_cache(maxsize=MOST)
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    r"""Return a pattern whose ``\b``, ``\w``, ``\d`` and ``\s`` know no other script.

    It is compiled when a text holds the words that its matches need: most texts hold those of few.
    """
    return cast("re.Pattern[str]", LatePattern(pattern, int(flags) | _ASCII))


@lru_cache(maxsize=KEPT)
def _small_words(text: str) -> HeldWords:
    return held_words(text.lower())


class LatePattern:
    """A pattern of ``re.ASCII`` that is compiled when a text may match it, and does as it then."""

    _musts: tuple[str, ...] | None = None
    """Words that every match holds; None before the pattern was looked at."""
    _choices: tuple[tuple[str, ...], ...] = ()
    """Words of each of which every match holds one."""
    _is_made = False
    """Whether it is compiled: of a part of a text it is asked at once then."""

    def __init__(self, pattern: str, flags: int) -> None:
        """Take a pattern that `re.compile` takes."""
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Return what the compiled pattern has of that name."""
        return getattr(self._made(), name)

    def _made(self) -> re.Pattern[str]:
        """Compile it: from now on the methods are those of the compiled pattern."""
        made = re.compile(self.pattern, self._flags)
        self.__dict__.update(_made=lambda: made, _is_made=True)
        if not (self._musts or self._choices):
            self.__dict__.update({name: getattr(made, name) for name in _METHODS})
        if self.pattern.startswith((r"\A", "(?i)\\A")) and len(alternatives(self.pattern)) == 1:
            self.__dict__["search"] = made.match
        return made

    def __repr__(self) -> str:
        """Return it as a pattern is shown."""
        return f"compiled({self.pattern!r}, {self._flags})"

    def _look(self) -> tuple[str, ...]:
        """Read from the pattern which words its matches hold, and return those that all hold."""
        self._folds = bool(self._flags & _IGNORECASE) or _FOLDS.search(self.pattern) is not None
        found = sought_words(self.pattern, folded=self._folds)
        self._choices = tuple(each for each in found if len(each) > 1)
        self._musts = tuple(each[0] for each in found if len(each) == 1)
        return self._musts

    def sought(self) -> tuple[bool, tuple[tuple[str, ...], ...]]:
        """Return choices of words of each of which every match holds one.

        Before them: whether they stand in a text in small letters.
        """
        musts = self._look() if self._musts is None else self._musts
        return self._folds, (*((word,) for word in musts), *self._choices)

    def _may_match(self, text: str, *span: int) -> bool:
        """Return whether a text, or a part of it, has the words that every match holds."""
        musts = self._look() if self._musts is None else self._musts
        if not musts and not self._choices:
            return True
        if span:
            text = text[max(0, span[0] - BEHIND) : span[1] if len(span) > 1 else None]
        elif LONG < len(text) <= LONGEST:
            held = _small_words(text) if self._folds else held_words(text)
            return all(held[word] for word in musts) and all(
                any(held[word] for word in choice) for choice in self._choices
            )
        if self._folds:
            text = text.lower()
        for word in musts:
            if word not in text:
                return False
        for choice in self._choices:
            for word in choice:
                if word in text:
                    break
            else:
                return False
        return True

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        """Return the first match."""
        if (span and self._is_made) or self._may_match(text, *span):
            return self._made().search(text, *span)
        return None

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        """Return a match at the start."""
        if (span and self._is_made) or self._may_match(text, *span):
            return self._made().match(text, *span)
        return None

    def fullmatch(self, text: str, *span: int) -> re.Match[str] | None:
        """Return a match of the whole."""
        if (span and self._is_made) or self._may_match(text, *span):
            return self._made().fullmatch(text, *span)
        return None

    def finditer(self, text: str, *span: int) -> Iterator[re.Match[str]]:
        """Return all matches, one by one."""
        if (span and self._is_made) or self._may_match(text, *span):
            return self._made().finditer(text, *span)
        return iter(())

    def findall(self, text: str, *span: int) -> list[Any]:
        """Return what all matches hold."""
        return self._made().findall(text, *span) if self._may_match(text) else []

    def split(self, text: str, maxsplit: int = 0) -> list[Any]:
        """Return what stands between matches."""
        return self._made().split(text, maxsplit) if self._may_match(text) else [text]

    def sub(self, by: Any, text: str, count: int = 0) -> str:
        """Return a text with something else for each match."""
        return self._made().sub(by, text, count) if self._may_match(text) else text

    def subn(self, by: Any, text: str, count: int = 0) -> tuple[str, int]:
        """Return a text with something else for each match, and how many there were."""
        return self._made().subn(by, text, count) if self._may_match(text) else (text, 0)


_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


# Alternatives that count groups of the others: \1 | (?(1)...)
_COUNTS_GROUPS = re.compile(r"\\[1-9]|\(\?\(")
# An escape | a class, whose first character is never its end | what nests or parts
_PIECES = re.compile(r"\\.|\[\^?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)


def alternatives(pattern: str) -> tuple[str, ...]:
    """Return the alternatives of a pattern: it matches in a text where one of them does."""
    if _COUNTS_GROUPS.search(pattern):
        return (pattern,)
    found, start, depth = [], 0, 0
    for piece in _PIECES.finditer(pattern):
        here = piece.group()
        if here == "(":
            depth += 1
        elif here == ")":
            depth -= 1
        elif here == "|" and not depth:
            found.append(pattern[start : piece.start()])
            start = piece.end()
    return (*found, pattern[start:])
