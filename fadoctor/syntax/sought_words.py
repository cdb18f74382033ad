"""Words that every match of a pattern holds, told by one look at how the pattern is written.

`fadoctor.knowledge.matrix.needed_words` asks Python's parser, which is half of what compiling
costs. This look costs a tenth of that, and may find less.
"""

from __future__ import annotations

import re

Choice = tuple[str, ...]
"""Words of which one is in every match."""

MOST = 40
"""Most words of one choice: more cost more than they save."""

MOST_CHOICES = 4
"""Most choices that are asked of a text: those of the longest words."""

LEAST = 2
"""Fewest characters of a word."""

_SAYS_ENOUGH = "\u2e80"
"""From here on one character is a syllable or a word."""

_UNSURE = "\u03a3"
"""Its small form depends on what stands beside it."""

# Letters as they are | an escape | a class | what opens a group, or sets flags | a repetition | any
_PIECES = re.compile(
    r"([^\\\[\](){}|?*+.^$]+)|\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
    r"|(\[\^?\]?(?:[^\]\\]|\\.)*\])|(\((?:\?(?:P<\w+>|[a-zA-Z-]*[:)]|<?[=!]|.))?)"
    r"|([?*+]|\{\d*,?\d*\})|.",
    re.DOTALL,
)
_RUN, _ESCAPED, _CLASS, _OPENED, _REPEATED = 1, 2, 3, 4, 5
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_WITHOUT_WIDTH = "bBAZ"
_UNREAD = "NU0123456789"
"""Escapes of several letters that are not read: names, long numbers, and what a group held."""
_NOWHERE = ("(?!", "(?<!")
_OPENING = re.compile(r"\((?:\?(?:[aims-]*:|P<\w+>|<?[=!]))?")
_SETTING = re.compile(r"\(\?[aims]+\)")


class _Group:
    """What was read of one group: its alternatives, and what there is of the last of them."""

    __slots__ = ("alternatives", "choices", "ended", "opened", "run")

    def __init__(self, opened: str) -> None:
        self.opened = opened
        self.alternatives: list[list[Choice]] = []
        self.choices: list[Choice] = []
        self.run = ""
        """Letters that stand side by side."""
        self.ended: list[Choice] = []
        """Choices of the group that has just ended: what follows may make it optional."""

    def flush(self) -> None:
        """Take the letters that stand side by side as a word."""
        if self.ended:
            self.choices += self.ended
            self.ended = []
        if self.run:
            if len(self.run) >= LEAST or self.run >= _SAYS_ENOUGH:
                self.choices.append((self.run,))
            self.run = ""

    def part(self) -> None:
        """End an alternative."""
        self.flush()
        self.alternatives.append(self.choices)
        self.choices = []

    def end(self) -> list[Choice]:
        """Return the choices of the whole."""
        self.part()
        if self.opened in _NOWHERE:
            return []
        if len(self.alternatives) == 1:
            return self.alternatives[0]
        if len(self.alternatives) > MOST or not all(self.alternatives):
            return []
        words = {word for each in self.alternatives for word in max(each, key=_worth)}
        return [tuple(words)] if len(words) <= MOST else []


def sought_words(pattern: str, *, folded: bool) -> tuple[Choice, ...]:
    """Return choices of words for a pattern without ``re.VERBOSE``; none where it is not clear.

    `folded`: for a text in small letters.
    """
    groups = [_Group("(")]
    for piece in _PIECES.finditer(pattern):
        if not _take(groups, piece.lastindex, piece[0]):
            return ()
    if len(groups) > 1:
        return ()
    found = sorted(groups[0].end(), key=_worth, reverse=True)[:MOST_CHOICES]
    if not folded:
        return tuple(found)
    sure = (each for each in found if not any(_UNSURE in word for word in each))
    return tuple(tuple(word.lower() for word in each) for each in sure)


def _take(groups: list[_Group], kind: int | None, text: str) -> bool:
    """Take a piece of a pattern; return whether it is clear what it means."""
    here = groups[-1]
    if kind == _RUN:
        if here.ended:
            here.flush()
        here.run += text
    elif kind == _ESCAPED:
        if text[1] in _UNREAD:
            return False
        _escaped(here, text[1:])
    elif kind == _REPEATED:
        _repeat(here, text)
    elif kind == _OPENED:
        return _open(groups, text)
    elif text == ")":
        return _close(groups)
    elif text == "|":
        here.part()
    elif text not in "^$":
        here.flush()
    return True


def _open(groups: list[_Group], text: str) -> bool:
    """Begin a group, unless only flags are set; return whether its kind is known."""
    if not _OPENING.fullmatch(text):
        return _SETTING.fullmatch(text) is not None
    if text not in _NOWHERE:
        groups[-1].flush()
    groups.append(_Group(text))
    return True


def _close(groups: list[_Group]) -> bool:
    """Give what a group needs to the one around it; return whether there is one."""
    if len(groups) == 1:
        return False
    ended = groups.pop()
    choices = ended.end()
    if ended.opened not in _NOWHERE:
        groups[-1].flush()
        groups[-1].ended = choices
    return True


def _repeat(here: _Group, sign: str) -> None:
    """Take a repetition into account, which is of the last letter or group."""
    is_needed = sign == "+" or sign[1:2] in tuple("123456789")
    if here.run:
        last = "" if not is_needed else here.run[-1]
        here.run = here.run[:-1] + last
        here.flush()
    elif not is_needed:
        here.ended = []
    here.flush()


def _escaped(here: _Group, name: str) -> None:
    """Take an escape: a letter, something without a width, or one of many letters."""
    if name in _WITHOUT_WIDTH:
        return
    letter = _CONTROLS.get(name, "")
    if len(name) > 1:
        letter = chr(int(name[1:], 16))
    elif not name.isalnum():
        letter = name
    if here.ended or not letter:
        here.flush()
    here.run += letter


def _worth(words: Choice) -> tuple[int, int]:
    return min(map(len, words)), -len(words)
