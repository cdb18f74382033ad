"""The instructions of a Dockerfile: continuations joined, here-documents apart, places kept."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.place import Place
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.syntax.source import Source

INSTRUCTION_LIMIT = 2_000
LINE_LIMIT = 100_000
LENGTH_LIMIT = 200_000
"""Characters of one instruction."""

# # escape=`
_ESCAPE = re.compile(r"#\s{0,20}escape\s{0,20}=\s{0,20}([\\`])\s{0,20}", re.IGNORECASE)
_DIRECTIVE = re.compile(r"#\s{0,20}\w{1,30}\s{0,20}=[^\n]{0,300}")
_KEYWORD = re.compile(r"\s{0,200}([A-Za-z]{1,20})(?:\s|$)")
# <<EOF, <<-"EOF", <<\EOF
_HEREDOC = re.compile(
    r"(?<![<\d])<<(-?)\s{0,9}(?:\\|([\"']?))([A-Za-z_][A-Za-z0-9_]{0,60})(?(2)\2)"
)


class Text:
    """A text put together of pieces of the file, which knows where each character stands."""

    def __init__(self, source: Source, lines: list[int]) -> None:
        """Begin with nothing."""
        self.text = ""
        self._source, self._lines = source, lines
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._offsets: list[int] = []
        self._length = 0

    def add(self, start: int, end: int) -> None:
        """Append a piece of the file."""
        self._starts.append(self._length)
        self._offsets.append(start)
        self._pieces.append(self._source.text[start:end])
        self._length += end - start

    def close(self) -> Text:
        """Join the pieces."""
        self.text = "".join(self._pieces)
        return self

    def and_then(self, start: int, end: int) -> Text:
        """Return it with one more piece of the file."""
        found = Text(self._source, self._lines)
        found._starts, found._offsets = list(self._starts), list(self._offsets)
        found._pieces, found._length = list(self._pieces), self._length
        found.add(start, end)
        return found.close()

    def place(self, index: int) -> Place:
        """Return where a character of the text stands in the file."""
        piece = max(0, bisect_right(self._starts, index) - 1)
        offset = self._offsets[piece] + index - self._starts[piece] if self._offsets else 0
        line = bisect_right(self._lines, offset)
        return Place(self._source.name, line, offset - self._lines[line - 1] + 1)


class Instruction(msgspec.Struct, frozen=True):
    """One instruction."""

    keyword: str
    """In capitals."""
    place: Place
    text: Text
    """Whole, with the keyword."""
    start: int
    """Where in the text the arguments begin."""
    heredocs: tuple[Text, ...] = ()
    script: Text | None = None
    """Whole, with the here-documents and their ends."""


def read_instructions(source: Source) -> Iterator[Instruction]:
    """Yield the instructions; InputError with the line for what is none."""
    return _Reader(source).instructions()


class _Reader:
    """Goes through the lines once."""

    def __init__(self, source: Source) -> None:
        if source.text.count("\n") > LINE_LIMIT:
            raise source.error(f"more than {LINE_LIMIT:,} lines")
        self.source = source
        self.lines = [line.removesuffix("\r") for line in source.text.split("\n")]
        self.starts = line_starts(source.text)
        self.escape = "\\"
        self.at = 0

    def instructions(self) -> Iterator[Instruction]:
        self.directives()
        count = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip() or line.lstrip().startswith("#"):
                self.at += 1
                continue
            count += 1
            if count > INSTRUCTION_LIMIT:
                problem = f"more than {INSTRUCTION_LIMIT:,} instructions"
                raise self.source.error(problem, line=self.at + 1)
            yield self.instruction()

    def directives(self) -> None:
        """Read the comments at the top that say how the rest is to be read."""
        for line in self.lines:
            if found := _ESCAPE.fullmatch(line):
                self.escape = found[1]
            if not _DIRECTIVE.fullmatch(line):
                return
            self.at += 1

    def instruction(self) -> Instruction:
        first = self.at
        joined = self.joined()
        keyword = _KEYWORD.match(joined.text)
        if keyword is None:
            raise self.source.error("no instruction of a Dockerfile", line=first + 1)
        heredocs: list[Text] = []
        script = joined
        if keyword[1].upper() in {"RUN", "COPY", "ADD"}:
            before = self.at
            heredocs = [self.heredoc(found) for found in _HEREDOC.finditer(joined.text)]
            if heredocs:
                end = self.starts[self.at] if self.at < len(self.starts) else len(self.source.text)
                script = joined.and_then(self.starts[before] - 1, end)
        return Instruction(
            keyword[1].upper(), joined.place(keyword.start(1)), joined, keyword.end(1),
            tuple(heredocs), script,
        )  # fmt: skip

    def joined(self) -> Text:
        """Join a line with those that continue it; comments and empty lines between them go."""
        found = Text(self.source, self.starts)
        first = self.at
        size, is_first = 0, True
        while self.at < len(self.lines):
            line, start = self.lines[self.at], self.starts[self.at]
            self.at += 1
            if not is_first and (not line.strip() or line.lstrip().startswith("#")):
                continue
            bare = line.rstrip()
            goes_on = bare.endswith(self.escape)
            end = len(bare) - 1 if goes_on else len(line)
            found.add(start, start + end)
            size, is_first = size + end, False
            if size > LENGTH_LIMIT:
                raise self.source.error("an instruction that is too long", line=first + 1)
            if not goes_on:
                break
        return found.close()

    def heredoc(self, mark: re.Match[str]) -> Text:
        """Read the lines up to the one that only has the mark."""
        found = Text(self.source, self.starts)
        first = self.at
        while self.at < len(self.lines):
            line, start = self.lines[self.at], self.starts[self.at]
            self.at += 1
            if (line.lstrip("\t") if mark[1] else line) == mark[3]:
                return found.close()
            found.add(start, min(start + len(line) + 1, len(self.source.text)))
        raise self.source.error(f"the here-document {mark[3]} has no end", line=first)
