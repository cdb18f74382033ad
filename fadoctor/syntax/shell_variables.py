"""Variables of a shell script, and words with them filled in.

A variable is known only where every run of the script would have the same value. What is not known
stays in a word as it is written, and the word is open.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_words import Piece, RawWord

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPANSION_LIMIT = 200_000
"""Characters that the variables of one script may come to; what goes beyond stays open."""

GROW_LIMIT = 2_000
"""Words that one variable may hold."""

CALLERS = frozenset("0123456789@*#")
"""Arguments of the script's own caller."""

Spans = tuple[tuple[int, int], ...]
"""An index in a word's text, and the index in the script of what begins there."""


class Word(msgspec.Struct, frozen=True):
    """A word of a command as the command gets it."""

    text: str
    at: int
    """Where it begins in the script; of a part of a variable, where that was written."""
    opens: Spans = ()
    """Begin and end of what is only known when it runs, in the text."""
    is_quoted: bool = False
    """Whether a part of it stands in quotes."""
    spans: Spans = ()

    @property
    def is_open(self) -> bool:
        """Whether something in it is only known when it runs."""
        return bool(self.opens)

    def place(self, index: int) -> int:
        """Return where in the script a character of the text stands."""
        at = bisect_right(self.spans, (index, 1 << 62)) - 1
        return self.at if at < 0 else self.spans[at][1] + index - self.spans[at][0]

    def part(self, start: int, end: int) -> Word:
        """Return the word that a part of the text is."""
        spans = tuple((at - start, place) for at, place in self.spans if start < at < end)
        opens = tuple((at - start, to - start) for at, to in self.opens if start <= at < end)
        first = self.place(start)
        return msgspec.structs.replace(
            self,
            text=self.text[start:end],
            at=first,
            opens=opens,
            spans=((0, first), *spans) if self.spans else (),
        )

    def split(self, separators: str | None) -> list[Word]:
        """Return the words that the shell makes of it where it stands in no quotes."""
        found, start = [], -1
        closed = {at for begin, end in self.opens for at in range(begin, end)}
        for index, char in enumerate(f"{self.text} "):
            is_end = index == len(self.text)
            is_break = char.isspace() if separators is None else char in separators
            is_break = is_end or (is_break and index not in closed)
            if is_break and start >= 0:
                found.append(self.part(start, index))
                start = -1
            elif not is_break and start < 0:
                start = index
        return found


class Variable(msgspec.Struct, frozen=True):
    """What a variable holds."""

    words: tuple[Word, ...]
    is_array: bool = False


Scope = dict[str, "Variable | None"]
"""Name -> value; None where a run would tell; no entry where the script does not set it."""


class Variables:
    """The variables at one point of a script."""

    def __init__(self, given: Mapping[str, str | None], *, takes_defaults: bool) -> None:
        """Begin with what is given; `takes_defaults`: whether ``${X:-y}`` is y, X being unset."""
        self.scope: Scope = {
            name: None if value is None else Variable((Word(value, -1),))
            for name, value in given.items()
        }
        self.takes_defaults = takes_defaults
        self.left = EXPANSION_LIMIT

    def separators(self) -> str | None:
        """Return what IFS holds, None where nothing sets it."""
        held = self.scope.get("IFS")
        return held.words[0].text if held is not None and held.words else None

    def set(self, name: str, value: Variable | None, *, is_added: bool = False) -> None:
        """Set a variable, or add to it."""
        before = self.scope.get(name)
        if is_added and value is not None:
            value = None if before is None and name in self.scope else _added(before, value)
        if value is not None and len(value.words) > GROW_LIMIT:
            value = None
        self.scope[name] = value

    def value(self, word: RawWord, start: int = 0) -> Variable:
        """Return what an assignment gives; `start`: after how many characters it begins."""
        if word.items is not None:
            return Variable(tuple(w for item in word.items for w in self.words(item)), True)
        return Variable((self.text(word, start),))

    def text(self, word: RawWord, start: int = 0) -> Word:
        """Return a word that is not split."""
        builder = _Builder()
        for piece in _dropped(word.pieces, start):
            self.fill(builder, piece, is_split=False)
        found = builder.word(word.at + start)
        return found if start else _placed(found, word)

    def join(self, words: tuple[Word, ...]) -> Word:
        """Return words as one text, with blanks between them."""
        builder = _Builder()
        builder.joined(words, -1, " ", is_quoted=True)
        return builder.word(words[0].at if words else -1)

    def words(self, word: RawWord) -> list[Word]:
        """Return the words that a word comes to; none where it is a variable that is empty."""
        builder = _Builder()
        for piece in word.pieces:
            self.fill(builder, piece, is_split=not piece.is_quoted)
        found = builder.finish(word.at)
        return [_placed(found[0], word), *found[1:]] if found else []

    def fill(self, builder: _Builder, piece: Piece, *, is_split: bool) -> None:
        """Add what a piece comes to."""
        if not piece.variable:
            builder.add(piece.text, piece.at, is_open=piece.is_open, is_quoted=piece.is_quoted)
            return
        is_all = piece.index in {"@", "*"} or piece.variable in {"@", "*"}
        held = self.held(piece, is_split=is_split)
        if held is not None:
            size = sum(len(word.text) + 1 for word in held)
            self.left -= size
            held = None if self.left < 0 else held
        if held is None:
            builder.add(piece.text, piece.at, is_open=True, is_quoted=piece.is_quoted)
            return
        if not is_all:
            held = held[:1] if not piece.default else held
        if is_split:
            builder.split(held, piece.at, self.separators())
        elif piece.is_quoted and "@" in {piece.index, piece.variable}:
            builder.several(held, piece.at)
        else:
            builder.joined(
                held, piece.at, (self.separators() or " ")[:1], is_quoted=piece.is_quoted
            )

    def held(self, piece: Piece, *, is_split: bool) -> tuple[Word, ...] | None:
        """Return what a variable comes to, None where only a run would tell."""
        is_known, value = piece.variable in self.scope, self.scope.get(piece.variable)
        index = piece.variable if piece.variable in {"@", "*"} else piece.index
        words = None if value is None else self.indexed(value, index)
        operator = piece.operator
        if not operator:
            return words
        if is_known and value is None:
            return None
        is_empty = words is None or (operator[0] == ":" and not any(w.text for w in words))
        if operator[-1] == "+":
            if not is_known:
                return None
            return () if is_empty else self.replacement(piece, is_split=is_split)
        if not is_empty:
            return words
        if operator[-1] == "?" or not (self.takes_defaults or is_known):
            return None
        found = self.replacement(piece, is_split=is_split)
        if operator[-1] == "=":
            self.set(piece.variable, Variable(found))
        return found

    def replacement(self, piece: Piece, *, is_split: bool) -> tuple[Word, ...]:
        """Return what stands in the place of a variable."""
        raw = RawWord(piece.at, piece.at, piece.default)
        return tuple(self.words(raw)) if is_split else (self.text(raw),)

    def indexed(self, value: Variable, index: str) -> tuple[Word, ...] | None:
        """Return what an index picks of an array."""
        if index in {"@", "*"}:
            return value.words
        if not index:
            return value.words[:1]
        if index.isdecimal() and len(index) < 5:
            return value.words[int(index) : int(index) + 1]
        return None


def _dropped(pieces: tuple[Piece, ...], count: int) -> list[Piece]:
    """Return pieces without the first characters."""
    found = []
    for piece in pieces:
        taken = min(count, len(piece.text))
        count -= taken
        shown = piece
        if taken:
            shown = msgspec.structs.replace(piece, text=piece.text[taken:], at=piece.at + taken)
        if shown.text or shown.is_quoted:
            found.append(shown)
    return found


def _placed(word: Word, raw: RawWord) -> Word:
    """Return a word at its quote; one that a variable begins stays where the variable has it."""
    if not raw.pieces or raw.pieces[0].variable:
        return word
    return msgspec.structs.replace(word, at=raw.at)


def _added(before: Variable | None, value: Variable) -> Variable:
    """Return what ``+=`` makes of a value."""
    if before is None:
        return value
    if value.is_array or before.is_array:
        return Variable((*before.words, *value.words), is_array=True)
    builder = _Builder()
    for word in (*before.words, *value.words):
        builder.take(word, word.at)
    return Variable((builder.word(value.words[0].at),))


class _Builder:
    """Puts words together."""

    def __init__(self) -> None:
        self.done: list[Word] = []
        self.begin()

    def begin(self) -> None:
        self.parts: list[str] = []
        self.spans: list[tuple[int, int]] = []
        self.length = 0
        self.opens: list[tuple[int, int]] = []
        self.is_quoted = False

    def add(self, text: str, at: int, *, is_open: bool = False, is_quoted: bool = False) -> None:
        """Add a text that stands at an index of the script."""
        self.is_quoted = self.is_quoted or is_quoted
        if text and at >= 0:
            self.spans.append((self.length, at))
        if is_open:
            self.opens.append((self.length, self.length + len(text)))
        self.parts.append(text)
        self.length += len(text)

    def take(self, word: Word, at: int) -> None:
        """Add a word that a variable holds, at its own place where it has one."""
        spans = word.spans or ((0, word.at if word.at >= 0 else at),)
        self.spans += [(self.length + start, place) for start, place in spans]
        self.opens += [(self.length + start, self.length + end) for start, end in word.opens]
        self.parts.append(word.text)
        self.length += len(word.text)

    def split(self, words: tuple[Word, ...], at: int, separators: str | None) -> None:
        """Add words that stand in no quotes: each is split."""
        for number, word in enumerate(words):
            pieces = word.split(separators)
            if number or _begins(word.text, separators):
                self.end()
            for index, piece in enumerate(pieces):
                if index:
                    self.end()
                self.take(piece, at)
            if _begins(word.text[::-1], separators):
                self.end()

    def several(self, words: tuple[Word, ...], at: int) -> None:
        """Add ``"${A[@]}"``: each stays one word."""
        self.is_quoted = bool(words) or bool(self.length)
        for index, word in enumerate(words):
            if index:
                self.end()
            self.is_quoted = True
            self.take(word, at)

    def joined(self, words: tuple[Word, ...], at: int, between: str, *, is_quoted: bool) -> None:
        """Add words as one."""
        self.is_quoted = self.is_quoted or is_quoted
        for index, word in enumerate(words):
            if index:
                self.add(between, at)
            self.take(word, at)

    def end(self) -> None:
        """End the word that is being put together, where there is one."""
        if self.length or self.is_quoted:
            self.done.append(self.word(-1))
        self.begin()

    def word(self, at: int) -> Word:
        """Return the word that was put together."""
        spans = tuple(self.spans)
        first = spans[0][1] if spans else at
        text = "".join(self.parts)
        return Word(text, first, tuple(self.opens), self.is_quoted, spans)

    def finish(self, at: int) -> list[Word]:
        """Return all words; the first begins where the script has it."""
        self.end()
        return [w if w.at >= 0 else msgspec.structs.replace(w, at=at) for w in self.done]


def _begins(text: str, separators: str | None) -> bool:
    return bool(text) and (text[0].isspace() if separators is None else text[0] in separators)
