"""Patterns of many alternatives of which it only counts whether one stands in a text.

Each alternative is a pattern of its own, with words of its own: a long text holds those of few, and
only these few are compiled, and searched for in the few lines that hold their words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.syntax.likely_lines import LONGEST, likely, likely_numbers
from fadoctor.syntax.patterns import LONG, alternatives, compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 256
"""Most patterns that are kept."""

KEPT = 2
"""Texts whose lines are remembered."""

_FLAGS = re.compile(r"\(\?([ims]+)\)")
_GROUP = re.compile(r"\(\?(?:([ims]+):|:)")
_BITS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
# What has an end of a line in it, or can: of such a pattern the whole text is searched
_NO_BREAK = re.compile(r"\[\^\\n")
_CROSSES = re.compile(r"\\[AZsSnWD]|\[\^|\(\?[a-z]{0,4}s[a-z]{0,4}:")
_ENDS = re.compile(r"(?<!\\)[\^$]")
_NESTED = 4
"""How deep alternatives are taken out of groups."""


class AlternativePattern:
    """One alternative."""

    def __init__(self, pattern: str, flags: int) -> None:
        """Take its pattern."""
        self.pattern = compiled(pattern, flags)
        plain = _NO_BREAK.sub("[", pattern)
        self.is_of_a_line = not _CROSSES.search(plain) and not flags & re.DOTALL
        if not flags & re.MULTILINE and _ENDS.search(plain):
            self.is_of_a_line = False


class Either:
    """The alternatives of a pattern."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        """Take a pattern without groups that are asked for."""
        if found := _FLAGS.match(pattern):
            pattern = pattern[found.end() :]
            for letter in found[1]:
                flags |= _BITS[letter]
        self._whole = compiled(pattern, flags)
        self._flags = flags
        self._made: tuple[AlternativePattern, ...] = ()

    @property
    def parts(self) -> tuple[AlternativePattern, ...]:
        """The alternatives, taken apart when they are first asked for."""
        if not self._made:
            split = _taken_apart(self._whole.pattern, self._flags, _NESTED)
            self._made = tuple(AlternativePattern(*each) for each in split)
        return self._made

    def stands(self, text: str) -> bool:
        """Return whether one stands in a text."""
        if not LONG < len(text) <= LONGEST:
            return self._whole.search(text) is not None
        lines = _lines(text)
        return any(
            any(map(part.pattern.search, likely(lines, part.pattern)))
            if part.is_of_a_line
            else part.pattern.search(text) is not None
            for part in self.parts
        )

    def numbers(self, lines: Sequence[str]) -> set[int]:
        """Return which of some lines, from 0 on, one stands in."""
        return {
            number
            for part in self.parts
            for number in likely_numbers(lines, part.pattern)
            if part.pattern.search(lines[number])
        }

    def stands_in(self, lines: Iterable[str]) -> bool:
        """Return whether one stands in one of some lines."""
        texts = tuple(lines)
        return any(
            any(map(part.pattern.search, likely(texts, part.pattern))) for part in self.parts
        )


either = lru_cache(maxsize=MOST)(Either)
"""The alternatives of a pattern, which are taken apart once."""


@lru_cache(maxsize=KEPT)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))


def _taken_apart(pattern: str, flags: int, depth: int) -> list[tuple[str, int]]:
    """Return the alternatives of a pattern with their flags, those of a group around all too."""
    found: list[tuple[str, int]] = []
    for each in alternatives(pattern):
        opened = _GROUP.match(each)
        inner = each[opened.end() : -1] if opened and each.endswith(")") else ""
        if not (depth and opened and inner and _is_balanced(inner)):
            found.append((each, flags))
            continue
        more = flags
        for letter in opened[1] or "":
            more |= _BITS[letter]
        found += _taken_apart(inner, more, depth - 1)
    return found


def _is_balanced(pattern: str) -> bool:
    """Return whether each bracket of a pattern is closed in it, so that those around it are one."""
    depth = 0
    for piece in re.finditer(r"\\.|\[\^?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]|[()]", pattern, re.DOTALL):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if depth < 0:
            return False
    return depth == 0
