"""Ideas that people tell: each has a pattern in a table, made once where it is asked for."""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.lazy_tables import table_once
from fadoctor.model.needed import needs_in
from fadoctor.model.rule import kept_with
from fadoctor.syntax.patterns import alternatives, compiled
from fadoctor.syntax.simplified import simplified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.rule import Cell, Knowledge

WORDS = "told-words"

MOST_TEXTS, MOST_SENTENCES = 3, 60
"""How often an idea is asked for by its words in one process; then by its whole pattern."""

NOWHERE = r"(?!)"
"""The pattern of an idea that no table has."""

BETWEEN = ">"
"""What stands between two ideas of a contrast: better>worse, or better>>worse.

With two of them the worse one may be left unsaid: what works only as root fails as a user.
"""

_BLANKS = compiled(r" {2,9}")
# \S | (?P<name>...) | (?P=name): capitals that are no letters of a text
_NO_LETTERS = compiled(r"\\.|\(\?P[<=]\w{1,60}[>)]")
_CAPITALS = compiled(r"[A-Z]")
# A capital as a number, or a range that ends among or right after them: \x41 | [ -^] | [ -\]]
_HIDDEN = compiled(r"\\(?:[xN0]|u00)|(?<![\[^])-[@^_`]|-\\[\[\]\\]")


# Words of ideas that other words contain, and what then stands before them:
# empfehlt, Befehl | black, slack | интернет, кабинет | sunset | change, exchange
_WITHIN_OTHERS = {
    "fehl": r"(?<!emp)(?<!be)",
    "lack": r"(?<![a-z])",
    "нет": r"(?<![\u0430-\u044f\u0451])",
    "unset": r"(?<!s)",
    "hang": r"(?<!c)",
}
_BEGINS = compiled(rf"(?<![\w\\])(?:{'|'.join(_WITHIN_OTHERS)})")


class Ideas:
    """The ideas of a knowledge base."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Read the table."""
        table = table_once(knowledge.tables, WORDS)
        rows = table.rows if table is not None else ()
        needs = table.needs.get("pattern", ()) if table is not None else ()
        names = [as_words(row["name"]) for row in rows]
        self._words = {as_words(row["name"]): as_words(row["pattern"]) for row in rows}
        self._kinds = {as_words(row["name"]): as_words(row.get("names")) for row in rows}
        self._needs: dict[str, str] = dict(zip(names, needs, strict=False))
        self._small: dict[str, re.Pattern[str]] = {}
        self._asked: dict[str, int] = {}

    def kind(self, idea: str) -> str:
        """Return the kind of context that all of `idea|another` name; empty where they do not."""
        kinds = {self._kinds.get(each, "") for each in idea.split("|")}
        return kinds.pop() if len(kinds) == 1 else ""

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Return the ideas that name one kind of context."""
        return tuple(name for name, named in self._kinds.items() if named == kind)

    def may_stand(self, idea: str, text: str) -> bool:
        """Return whether a text, as `plain` makes them, has the words that `idea` needs.

        Most ideas stand in no text: it is told without their patterns, which cost far more.
        """
        if (whole := self._worth_it(idea, MOST_TEXTS)) is not None:
            return whole.search(text) is not None
        return any(any(self._at_hand(each, text)) for each in _names(idea))

    def stands(self, idea: str, text: str) -> bool:
        """Return whether `idea`, or one of `idea|another`, stands in a text as `plain` makes them.

        Of a pattern only those alternatives are compiled whose words the text has.
        """
        if (whole := self._worth_it(idea, MOST_SENTENCES)) is not None:
            return whole.search(text) is not None
        return any(
            _small(each).search(text) is not None
            for name in _names(idea)
            for each in self._alternatives(name, text)
        )

    def at_hand(self, idea: str, text: str) -> tuple[re.Pattern[str], ...]:
        """Return patterns of `idea`, of which one stands where the idea stands in a part of a text.

        They are those of its alternatives whose words the text has: for most texts none.
        """
        return tuple(
            _small(each) for name in _names(idea) for each in self._alternatives(name, text)
        )

    def _worth_it(self, idea: str, most: int) -> re.Pattern[str] | None:
        """Return the whole pattern of an idea where it is made, or was asked for often."""
        if idea not in self._small:
            times = self._asked[idea] = self._asked.get(idea, 0) + 1
            if times <= most:
                return None
        return self.small(idea)

    def _alternatives(self, name: str, text: str) -> Iterator[str]:
        """Yield the alternatives of one idea's pattern whose words a text has."""
        whole = simplified(self._words.get(name, NOWHERE))
        if name not in self._needs:
            yield whole
            return
        at_hand = tuple(self._at_hand(name, text))
        if any(at_hand):
            yield from compress(alternatives(whole), at_hand)

    def _at_hand(self, name: str, text: str) -> Iterator[bool]:
        """Yield for each alternative of an idea whether a text has the words that it needs."""
        return needs_in(text, self._needs.get(name, ""))

    def small(self, idea: str) -> re.Pattern[str]:
        """Return the pattern of `idea`, or of `idea|another`, for texts as `plain` makes them.

        That of a contrast is a pattern of both of its ideas.
        """
        found = self._small.get(idea)
        if found is None:
            words = (simplified(self._words.get(each, NOWHERE)) for each in _names(idea))
            found = self._small[idea] = _small("|".join(words))
        return found

    def as_written(self, idea: str) -> re.Pattern[str]:
        """Return the pattern of one idea for any text."""
        return compiled(_names_end(self._words.get(idea, NOWHERE)), re.IGNORECASE)


def _names(idea: str) -> list[str]:
    """Return the ideas of `idea|another`, and of a contrast."""
    return list(filter(None, idea.replace(BETWEEN, "|").split("|")))


def ideas_of(knowledge: Knowledge) -> Ideas:
    """Return the ideas of a knowledge base, which are read once."""
    return kept_with(knowledge, "told ideas", Ideas)


def told_idea(name: str, knowledge: Knowledge) -> re.Pattern[str]:
    """Return the pattern of one idea; what no table has stands nowhere."""
    return ideas_of(knowledge).as_written(name)


def small_idea(name: str, knowledge: Knowledge) -> re.Pattern[str]:
    """Return the pattern of one idea for a text in small letters and simplified Chinese."""
    return ideas_of(knowledge).small(name)


def plain(text: str) -> str:
    """Return a text in small letters and simplified Chinese, without rows of blanks."""
    return _BLANKS.sub(" ", simplified(text.lower()))


def as_words(cell: Cell) -> str:
    """Return a cell of a table as one text; empty where there is none."""
    return " ".join(cell) if isinstance(cell, tuple) else str(cell) if cell is not None else ""


def _small(pattern: str) -> re.Pattern[str]:
    """Return a pattern for small letters: one without capitals need not look for any."""
    has_capitals = _CAPITALS.search(_NO_LETTERS.sub("", pattern)) or _HIDDEN.search(pattern)
    return compiled(_names_end(pattern), re.IGNORECASE if has_capitals else 0)


def _names_end(pattern: str) -> str:
    r"""Let a name end where the script changes: Mac에서 holds Mac. No lack stands in black."""
    whole = _BEGINS.sub(lambda word: _WITHIN_OTHERS[word[0]] + word[0], pattern)
    return whole.replace(r"\b", r"(?a:\b)")
