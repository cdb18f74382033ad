"""Split a shell script into words and operators, each with its place; nothing is expanded or run.

Quotes are taken away and continued lines joined. ``$(...)`` and backticks become ``${command}``, so
that what they stand in is left open like any variable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

WORD_LIMIT = 50_000
"""Words of one script."""

_PART_LIMIT = 100_000
"""Quotes, escapes and variables of one script."""

_NEST_LIMIT = 20
"""How deep ``$( $( ... ) )`` may lie."""

COMMAND = "${command}"
"""What stands for the output of a command."""

_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>#]+")
_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_OPERATOR = re.compile(r"\n|&&|\|\||;;&?|;&|\|&|&>>?|<<<|<<-?|>>|[0-9]?>&[0-9-]?|[;&|()<>]")
_SINGLE = re.compile(r"'([^']*)'")
_VARIABLE = re.compile(r"\$(?:\{[^}\n]{0,200}\}|[A-Za-z_]\w{0,80})")
_SPECIAL = re.compile(r"\$([0-9@*#?!$-])")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_HEREDOC_END = re.compile(r"[^\n]*\n?")


class Word(msgspec.Struct, frozen=True):
    """A word or an operator of a script."""

    text: str
    line: int
    column: int
    is_operator: bool = False
    is_quoted: bool = False
    """Whether a part of it stands in quotes: then no variable in it is split into words."""
    body: str = ""
    """Of a ``<<``: the lines that follow, up to its delimiter."""
    body_line: int = 0


class Splitter:
    """Goes once through a text."""

    def __init__(
        self, source: Source, text: str, line: int = 1, *, is_all_text: bool = True
    ) -> None:
        """Begin at a line of the source; `is_all_text`: whether columns are those of the file."""
        self.source, self.text = source, text
        self.line, self.at, self.line_start = line, 0, 0
        self.is_all_text = is_all_text
        self.parts = 0
        self.words: list[Word] = []
        self.waiting: list[tuple[int, bool]] = []

    def split(self) -> list[Word]:
        """Return the words and operators; InputError where there are too many."""
        while self.at < len(self.text):
            if blank := _BLANK.match(self.text, self.at):
                self.pass_over(blank.end())
            elif comment := _COMMENT.match(self.text, self.at):
                self.at = comment.end()
            elif operator := _OPERATOR.match(self.text, self.at):
                self.operator(operator[0])
            else:
                self.word()
            if len(self.words) > WORD_LIMIT:
                raise self.source.error("more words than are read", line=self.line)
        return self.words

    def pass_over(self, end: int) -> None:
        """Go on to an index and count the lines on the way."""
        lines = self.text.count("\n", self.at, end)
        if lines:
            self.line += lines
            self.line_start = self.text.rindex("\n", self.at, end) + 1
        self.at = end

    def column(self) -> int:
        """Return the column of where it stands, from 1."""
        return self.at - self.line_start + 1 if self.is_all_text else 1

    def operator(self, text: str) -> None:
        """Add an operator; at the end of a line read what its ``<<`` announced."""
        self.words.append(Word(text, self.line, self.column(), is_operator=True))
        self.pass_over(self.at + len(text))
        if text in ("<<", "<<-"):
            self.waiting.append((len(self.words) - 1, text == "<<-"))
        elif text == "\n" and self.waiting:
            waiting, self.waiting = self.waiting, []
            for index, is_indented in waiting:
                self.heredoc(index, is_indented=is_indented)

    def heredoc(self, index: int, *, is_indented: bool) -> None:
        """Attach the lines up to the delimiter to the operator that announced them."""
        delimiter = self.words[index + 1].text if index + 1 < len(self.words) else ""
        start, line = self.at, self.line
        while self.at < len(self.text):
            row = _HEREDOC_END.match(self.text, self.at)
            end = row.end() if row else len(self.text)
            content = self.text[self.at : end].rstrip("\r\n")
            here = self.at
            self.pass_over(end)
            if (content.lstrip("\t") if is_indented else content) == delimiter:
                break
            here = end
        else:
            here = self.at
        body = self.text[start:here]
        self.words[index] = msgspec.structs.replace(self.words[index], body=body, body_line=line)

    def word(self) -> None:
        """Add the word that begins here."""
        line, column = self.line, self.column()
        parts: list[str] = []
        is_quoted = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if plain := _PLAIN.match(self.text, self.at):
                parts.append(plain[0])
                self.at = plain.end()
            elif char == "#":  # inside a word it is no comment
                parts.append(char)
                self.at += 1
            elif char in "'\"$`\\":
                is_quoted = is_quoted or char in "'\""
                if not self.special(char, parts):
                    break
            else:
                break
        self.words.append(Word("".join(parts), line, column, is_quoted=is_quoted))

    def special(self, char: str, parts: list[str]) -> bool:
        """Read a quote, a variable or an escape; False where a continued line ends the word."""
        self.count()
        if char == "'":
            single = _SINGLE.match(self.text, self.at)
            parts.append(single[1] if single else self.text[self.at + 1 :])
            self.pass_over(single.end() if single else len(self.text))
        elif char == '"':
            self.double(parts)
        elif char == "\\":
            if self.text.startswith(("\\\n", "\\\r\n"), self.at):
                return False
            parts.append(self.text[self.at + 1 : self.at + 2])
            self.pass_over(self.at + 2)
        else:
            self.expansion(parts)
        return True

    def count(self) -> None:
        """Refuse a text of quotes and variables without end."""
        self.parts += 1
        if self.parts > _PART_LIMIT:
            raise self.source.error("more quotes and variables than are read", line=self.line)

    def double(self, parts: list[str]) -> None:
        """Read text in double quotes."""
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            self.count()
            char = self.text[self.at]
            if plain := _IN_DOUBLE.match(self.text, self.at):
                parts.append(plain[0])
                self.pass_over(plain.end())
            elif char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                parts.append("" if following == "\n" else following)
                self.pass_over(self.at + 2)
            else:
                self.expansion(parts)
        self.at += 1

    def expansion(self, parts: list[str]) -> None:
        """Read a variable, or a command whose output stands here."""
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            parts.append(COMMAND)
            self.pass_over(end + 1 if end >= 0 else len(self.text))
        elif self.text.startswith("$(", self.at):
            parts.append(COMMAND)
            self.pass_over(self.closing(self.at + 2))
        elif variable := _VARIABLE.match(self.text, self.at):
            parts.append(variable[0])
            self.at = variable.end()
        elif special := _SPECIAL.match(self.text, self.at):
            parts.append(f"${{{special[1]}}}")
            self.at = special.end()
        else:
            parts.append("${}" if self.text.startswith("${", self.at) else "")
            self.at += 1

    def closing(self, start: int) -> int:
        """Return the index after the parenthesis that closes; quotes are not looked at."""
        depth = 1
        for found in re.compile(r"[()]").finditer(self.text, start):
            depth += 1 if found[0] == "(" else -1
            if depth == 0:
                return found.end()
            if depth > _NEST_LIMIT:
                raise self.source.error("commands in commands, too deep", line=self.line)
        return len(self.text)
