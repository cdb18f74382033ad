"""Words of a shell script: quotes, escapes and variables taken apart; nothing is expanded or run.

Every piece knows where it stands. What only a run would tell (the output of a command, a sum) is a
piece that is open.
"""

from __future__ import annotations

import re

from fadoctor.syntax.shell_pieces import Piece, RawWord, later

PIECE_LIMIT = 200_000
"""Quotes, escapes and variables of one script."""

NEST_LIMIT = 10
"""How deep ``$( $( ... ) )`` and ``${X:-${Y}}`` may lie."""

_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>@!?*+]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w{0,100}")
_SPECIAL = re.compile(r"[0-9@*#?!$-]")
# NAME, NAME[@], NAME:-
_INSIDE = re.compile(
    r"([A-Za-z_]\w{0,100}|[0-9@*])(?:\[([^\]$`\"']{1,80})\])?(?:(:?[-+=?])(.*))?", re.DOTALL
)
_ARRAY = re.compile(r"[A-Za-z_]\w{0,100}\+?=\(")
_BLANK = re.compile(r"(?:[ \t]|\r(?!\n)|\\\r?\n)+")
_GAP = re.compile(r"(?:\s|\\\r?\n|#[^\n]*(?!.))+")
_NESTING = re.compile(r"[\\'\"`(){}]|\$'")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f",
            "v": "\v", "E": "\x1b"}  # fmt: skip
_ENDS = frozenset(" \t\r\n;&|()<>")


class Words:
    """Reads words of a text, from an index on."""

    def __init__(self, text: str, at: int = 0, *, depth: int = 0, left: int = PIECE_LIMIT) -> None:
        """Begin at an index; `depth`: how many commands this one lies in."""
        self.text, self.at, self.depth, self.left = text, at, depth, left
        self.is_cut = False
        """Whether the rest is not read, because there is too much."""

    def commands_end(self, at: int) -> int:
        """Return the index after the parenthesis that closes commands beginning at an index."""
        raise NotImplementedError

    def skip_blanks(self) -> None:
        """Go over blanks and continued lines."""
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()

    def stop(self) -> None:
        """Leave the rest unread."""
        self.is_cut = True
        self.at = len(self.text)

    def word(self) -> RawWord:
        """Read the word that begins here."""
        start = self.at
        if found := _ARRAY.match(self.text, start):
            return self.array(start, found.end())
        return self.element()

    def element(self) -> RawWord:
        """Read the word that begins here; no list."""
        start = self.at
        pieces: list[Piece] = []
        end, count = start, 0
        while self.at < len(self.text) and self.piece(pieces):
            if len(pieces) > count:  # a continued line ends no word, and belongs to none
                end, count = self.at, len(pieces)
        return RawWord(start, end, tuple(pieces))

    def array(self, start: int, inner: int) -> RawWord:
        """Read ``NAME=(a b)``."""
        name = Piece(self.text[start : inner - 1], start)
        self.at = inner
        items: list[RawWord] = []
        while self.at < len(self.text):
            if gap := _GAP.match(self.text, self.at):
                self.at = gap.end()
            elif self.text[self.at] == ")":
                self.at += 1
                break
            elif self.text[self.at] in ";&|(<>":
                self.at += 1
            else:
                items.append(self.element())
        return RawWord(start, self.at, (name,), tuple(items))

    def piece(self, pieces: list[Piece]) -> bool:
        """Read one piece; False where the word ends."""
        self.left -= 1
        if self.left < 0:
            self.stop()
            return False
        text, at = self.text, self.at
        char = text[at]
        if plain := _PLAIN.match(text, at):
            pieces.append(Piece(plain[0], at))
            self.at = plain.end()
        elif char == "'":
            end = self.find("'", at + 1)
            pieces.append(Piece(text[at + 1 : end], at + 1, is_quoted=True))
            self.at = min(end + 1, len(text))
        elif char == '"':
            self.at += 1
            self.double(pieces)
        elif char == "\\":
            return self.escaped(pieces)
        elif char in "$`":
            self.expansion(pieces, is_quoted=False)
        elif char in "<>" and text.startswith("(", at + 1):
            self.opened(pieces, self.commands_end(at + 2), is_quoted=False)
        elif char in "@!?*+" and text.startswith("(", at + 1):
            end = self.closing(at + 2, ")")
            pieces.append(Piece(text[at:end], at))
            self.at = end
        elif char in _ENDS or char.isspace():
            return False
        else:
            pieces.append(Piece(char, at))
            self.at += 1
        return True

    def find(self, mark: str, start: int) -> int:
        """Return where a mark stands next, or the end of the text."""
        end = self.text.find(mark, start)
        return end if end >= 0 else len(self.text)

    def escaped(self, pieces: list[Piece]) -> bool:
        """Read a backslash and what follows; a continued line goes on with the same word."""
        following = self.text[self.at + 1 : self.at + 3]
        if following.startswith(("\n", "\r\n")):
            self.at += 2 + following.startswith("\r")
            return True
        pieces.append(Piece(following[:1], self.at + 1, is_quoted=True))
        self.at = min(self.at + 2, len(self.text))
        return True

    def double(self, pieces: list[Piece], end: int | None = None) -> None:
        """Read text in double quotes up to the closing one, or the whole text up to an index."""
        text, limit = self.text, len(self.text) if end is None else end
        pieces.append(Piece("", self.at, is_quoted=True))
        while self.at < limit and (text[self.at] != '"' or end is not None) and not self.is_cut:
            self.left -= 1
            if self.left < 0:
                self.stop()
            elif text[self.at] == '"':
                pieces.append(Piece('"', self.at, is_quoted=True))
                self.at += 1
            elif plain := _IN_DOUBLE.match(text, self.at, limit):
                pieces.append(Piece(plain[0], self.at, is_quoted=True))
                self.at = plain.end()
            elif text[self.at] == "\\":
                self.escaped_in_double(pieces)
            else:
                self.expansion(pieces, is_quoted=True)
        if end is None:
            self.at = min(self.at + 1, len(text))

    def escaped_in_double(self, pieces: list[Piece]) -> None:
        """Read a backslash in double quotes: it only counts before some characters."""
        following = self.text[self.at + 1 : self.at + 3]
        if following.startswith(("\n", "\r\n")):
            self.at += 2 + following.startswith("\r")
            return
        is_escape = following[:1] in {'"', "\\", "$", "`"}
        kept = following[:1] if is_escape else "\\" + following[:1]
        pieces.append(Piece(kept, self.at + is_escape, is_quoted=True))
        self.at = min(self.at + 2, len(self.text))

    def expansion(self, pieces: list[Piece], *, is_quoted: bool) -> None:
        """Read ``$NAME``, ``${NAME:-x}``, ``$(...)``, ``$'...'`` or backticks."""
        text, at = self.text, self.at
        if text[at] == "`":
            end = at + 1
            while (end := self.find("`", end)) < len(text) and text[end - 1] == "\\":
                end += 1
            self.opened(pieces, min(end + 1, len(text)), is_quoted=is_quoted)
        elif text.startswith("$((", at):
            self.opened(pieces, self.closing(at + 2, ")"), is_quoted=is_quoted)
        elif text.startswith("$(", at):
            self.opened(pieces, self.commands_end(at + 2), is_quoted=is_quoted)
        elif text.startswith("${", at):
            self.braced(pieces, is_quoted=is_quoted)
        elif found := (_NAME.match(text, at + 1) or _SPECIAL.match(text, at + 1)):
            self.at = found.end()
            pieces.append(Piece(text[at : self.at], at, is_quoted, variable=found[0]))
        elif text.startswith("$'", at) and not is_quoted:
            self.ansi(pieces)
        elif text.startswith('$"', at) and not is_quoted:
            self.at += 1
        else:
            pieces.append(Piece("$", at, is_quoted))
            self.at += 1

    def opened(self, pieces: list[Piece], end: int, *, is_quoted: bool) -> None:
        """Add what only a run would tell."""
        pieces.append(Piece(self.text[self.at : end], self.at, is_quoted, is_open=True))
        self.at = end

    def braced(self, pieces: list[Piece], *, is_quoted: bool) -> None:
        """Read ``${NAME}`` with whatever follows the name."""
        at = self.at
        end = self.closing(at + 2, "}", is_quoted=is_quoted)
        found = _INSIDE.fullmatch(self.text, at + 2, max(at + 2, end - 1))
        if found is None or self.depth >= NEST_LIMIT:
            self.opened(pieces, end, is_quoted=is_quoted)
            return
        default: list[Piece] = []
        if found[4]:
            self.at, self.depth = found.start(4), self.depth + 1
            self.default(default, end - 1, is_quoted=is_quoted)
            self.depth -= 1
        self.at = end
        written = self.text[at:end]
        more = (found[1], found[2] or "", found[3] or "", tuple(default))
        pieces.append(Piece(written, at, is_quoted, False, *more))

    def default(self, pieces: list[Piece], end: int, *, is_quoted: bool) -> None:
        """Read what a variable is replaced by."""
        if is_quoted:
            self.double(pieces, end)
            return
        start = self.at
        inner = type(self)(self.text[start:end], depth=self.depth, left=self.left)
        while inner.at < len(inner.text):
            if not inner.piece(pieces):
                pieces.append(Piece(inner.text[inner.at : inner.at + 1], inner.at))
                inner.at += 1
        pieces[:] = [later(each, start) for each in pieces]
        self.left, self.is_cut = inner.left, self.is_cut or inner.is_cut

    def ansi(self, pieces: list[Piece]) -> None:
        r"""Read ``$'a\nb'``."""
        at = self.at
        end = self.ansi_end(at + 2)
        raw = self.text[at + 2 : end]
        pieces.append(Piece(_ESCAPE.sub(_meant, raw), at + 2, is_quoted=True))
        self.at = min(end + 1, len(self.text))

    def ansi_end(self, at: int) -> int:
        """Return where the quote stands that closes ``$'``."""
        while at < len(self.text) and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        return min(at, len(self.text))

    def closing(self, start: int, mark: str, *, is_quoted: bool = False) -> int:
        """Return the index after the brace or parenthesis that closes; quotes are looked at."""
        opening = "(" if mark == ")" else "{"
        at, depth, in_double = start, 1, False
        while (found := _NESTING.search(self.text, at)) is not None:
            char, at = found[0], found.end()
            if char == "\\":
                at += 1
            elif char == '"':
                in_double = not in_double
            elif char[-1] == "'" and not in_double and not is_quoted:
                is_ansi = char == "$'"
                at = (self.ansi_end(at) if is_ansi else self.find("'", at)) + 1
            elif char == "`":
                at = self.find("`", at) + 1
            elif char == opening and (mark == ")" or self.text[found.start() - 1] == "$"):
                depth += 1
            elif char == mark and (not in_double or depth > 1):
                depth -= 1
                if depth == 0:
                    return at
        return len(self.text)


def _meant(found: re.Match[str]) -> str:
    code = int(found[1] or found[2] or "0", 16) or int(found[3] or "0", 8)
    if found[4] is None:
        return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)
    return _ESCAPED.get(found[4], found[4] if found[4] in "'\"\\?" else found[0])
