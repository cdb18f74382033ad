"""Words of a command as the command gets them: split, joined, and where each part was written."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

Spans = tuple[tuple[int, int], ...]
"""An index in a word's text, and the index in the script of what begins there."""


class FilledWord(msgspec.Struct, frozen=True):
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

    def part(self, start: int, end: int) -> FilledWord:
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

    def split(self, separators: str | None) -> list[FilledWord]:
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


class Builder:
    """Puts words together."""

    def __init__(self) -> None:
        self.done: list[FilledWord] = []
        self.begin()

    def begin(self) -> None:
        """Begin a word."""
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

    def take(self, word: FilledWord, at: int) -> None:
        """Add a word that a variable holds, at its own place where it has one."""
        spans = word.spans or ((0, word.at if word.at >= 0 else at),)
        self.spans += [(self.length + start, place) for start, place in spans]
        self.opens += [(self.length + start, self.length + end) for start, end in word.opens]
        self.parts.append(word.text)
        self.length += len(word.text)

    def split(self, words: tuple[FilledWord, ...], at: int, separators: str | None) -> None:
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

    def several(self, words: tuple[FilledWord, ...], at: int) -> None:
        """Add ``"${A[@]}"``: each stays one word."""
        self.is_quoted = bool(words) or bool(self.length)
        for index, word in enumerate(words):
            if index:
                self.end()
            self.is_quoted = True
            self.take(word, at)

    def joined(
        self, words: tuple[FilledWord, ...], at: int, between: str, *, is_quoted: bool
    ) -> None:
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

    def word(self, at: int) -> FilledWord:
        """Return the word that was put together."""
        spans = tuple(self.spans)
        first = spans[0][1] if spans else at
        text = "".join(self.parts)
        return FilledWord(text, first, tuple(self.opens), self.is_quoted, spans)

    def finish(self, at: int) -> list[FilledWord]:
        """Return all words; the first begins where the script has it."""
        self.end()
        return [w if w.at >= 0 else msgspec.structs.replace(w, at=at) for w in self.done]


def _begins(text: str, separators: str | None) -> bool:
    return bool(text) and (text[0].isspace() if separators is None else text[0] in separators)
