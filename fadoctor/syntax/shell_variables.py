"""Variables of a shell script, and words with them filled in.

A variable is known only where every run of the script would have the same value. What is not known
stays in a word as it is written, and the word is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_filled_words import Builder, FilledWord
from fadoctor.syntax.shell_pieces import Piece, RawWord

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPANSION_LIMIT = 200_000
"""Characters that the variables of one script may come to; what goes beyond stays open."""

GROW_LIMIT = 2_000
"""Words that one variable may hold."""

CALLERS = frozenset("0123456789@*#")
"""Arguments of the script's own caller."""


class Variable(msgspec.Struct, frozen=True):
    """What a variable holds."""

    words: tuple[FilledWord, ...]
    is_array: bool = False


Scope = dict[str, "Variable | None"]
"""Name -> value; None where a run would tell; no entry where the script does not set it."""


class Variables:
    """The variables at one point of a script."""

    def __init__(self, given: Mapping[str, str | None], *, takes_defaults: bool) -> None:
        """Begin with what is given; `takes_defaults`: whether ``${X:-y}`` is y, X being unset."""
        self.scope: Scope = {
            name: None if value is None else Variable((FilledWord(value, -1),))
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

    def perhaps(self, name: str, value: Variable, *, is_added: bool = False) -> None:
        """Note what may be set: what a variable keeps of its own stays known, the rest is open."""
        before = self.scope.get(name)
        keeps = before is not None and bool(before.words) and before.words[0].text.strip()
        if before is None or not keeps or not (is_added or _goes_on(before, value)):
            self.scope[name] = None
            return
        more = f"${{{name}...}}"
        if before.words[-1].text.endswith(more):
            return
        rest = FilledWord(more, -1, ((0, len(more)),))
        if not before.is_array:
            before = _added(before, Variable((FilledWord(" ", -1),)))
        self.scope[name] = _added(before, Variable((rest,), is_array=before.is_array))

    def value(self, word: RawWord, start: int = 0) -> Variable:
        """Return what an assignment gives; `start`: after how many characters it begins."""
        if word.items is not None:
            return Variable(tuple(w for item in word.items for w in self.words(item)), True)
        return Variable((self.text(word, start),))

    def text(self, word: RawWord, start: int = 0) -> FilledWord:
        """Return a word that is not split."""
        builder = Builder()
        for piece in _dropped(word.pieces, start):
            self.fill(builder, piece, is_split=False)
        found = builder.word(word.at + start)
        return found if start else _placed(found, word)

    def join(self, words: tuple[FilledWord, ...]) -> FilledWord:
        """Return words as one text, with blanks between them."""
        builder = Builder()
        builder.joined(words, -1, " ", is_quoted=True)
        return builder.word(words[0].at if words else -1)

    def words(self, word: RawWord) -> list[FilledWord]:
        """Return the words that a word comes to; none where it is a variable that is empty."""
        builder = Builder()
        for piece in word.pieces:
            self.fill(builder, piece, is_split=not piece.is_quoted)
        found = builder.finish(word.at)
        return [_placed(found[0], word), *found[1:]] if found else []

    def fill(self, builder: Builder, piece: Piece, *, is_split: bool) -> None:
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

    def held(self, piece: Piece, *, is_split: bool) -> tuple[FilledWord, ...] | None:
        """Return what a variable comes to, None where only a run would tell."""
        is_known, value = piece.variable in self.scope, self.scope.get(piece.variable)
        index = piece.variable if piece.variable in {"@", "*"} else piece.index
        words = None if value is None else self.indexed(value, index)
        operator = piece.operator
        if not operator or (is_known and value is None):
            return words
        is_empty = words is None or (operator[0] == ":" and not any(w.text for w in words))
        is_decided = is_known or (self.takes_defaults and operator[-1] != "+")
        if operator[-1] == "+" and is_known:
            return () if is_empty else self.replacement(piece, is_split=is_split)
        if not is_empty:
            return words
        if operator[-1] == "?" or not is_decided:
            return None
        found = self.replacement(piece, is_split=is_split)
        if operator[-1] == "=":
            self.set(piece.variable, Variable(found))
        return found

    def replacement(self, piece: Piece, *, is_split: bool) -> tuple[FilledWord, ...]:
        """Return what stands in the place of a variable."""
        raw = RawWord(piece.at, piece.at, piece.default)
        return tuple(self.words(raw)) if is_split else (self.text(raw),)

    def indexed(self, value: Variable, index: str) -> tuple[FilledWord, ...] | None:
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


def _placed(word: FilledWord, raw: RawWord) -> FilledWord:
    """Return a word at its quote; one that a variable begins stays where the variable has it.

    So does each of ``"${A[@]}"``.
    """
    first = next((each for each in raw.pieces if each.variable or each.text), None)
    if first is None or (first.variable and (not first.is_quoted or first.index == "@")):
        return word if first is not None else msgspec.structs.replace(word, at=raw.at)
    return msgspec.structs.replace(word, at=raw.at)


def _goes_on(before: Variable, value: Variable) -> bool:
    """Return whether a value begins with all that is held: ``X="$X more"``."""
    if before.is_array or value.is_array:
        held = [word.text for word in before.words]
        return before.is_array and [word.text for word in value.words][: len(held)] == held
    return value.words[0].text.startswith(before.words[0].text)


def _added(before: Variable | None, value: Variable) -> Variable:
    """Return what ``+=`` makes of a value."""
    if before is None:
        return value
    if value.is_array or before.is_array:
        return Variable((*before.words, *value.words), is_array=True)
    builder = Builder()
    for word in (*before.words, *value.words):
        builder.take(word, word.at)
    return Variable((builder.word(value.words[0].at),))
