"""The grammar of the shell: simple commands, and the blocks that they stand in, in their order.

The result is flat: what opens and closes a block stands between the commands. So depth costs
nothing, and a script with a mistake in it is read as far as it makes sense.
"""

from __future__ import annotations

import re

from fadoctor.syntax.shell_events import Heredoc, Mark, Redirection, Simple
from fadoctor.syntax.shell_pieces import Piece, RawWord
from fadoctor.syntax.shell_words import NEST_LIMIT, Words

EVENT_LIMIT = 50_000
"""Commands and blocks of one script."""

BLOCK_LIMIT = 200
"""Blocks that lie in each other."""

_OPERATOR = re.compile(r"\r?\n|&&|\|\||;;&|;;|;&|\|&|[;&|]")
_REDIRECTION = re.compile(
    r"(?:[0-9]{1,9}|\{[A-Za-z_]\w{0,80}\})?(&>>|&>|<<<|<<-|<<|>>|>&|<&|<>|>\||<(?!\()|>(?!\())"
)
_COMMENT = re.compile(r"#[^\n]*")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_OPENS = {"if": "if", "while": "loop", "until": "loop", "{": "{"}
_PARTS = {"then": "if", "else": "if", "elif": "if", "do": "loop"}
_CLOSES = {"fi": "if", "done": "loop", "esac": "case", "}": "{"}
_CLOSING = re.compile(r"\]\](?=[\s;&|()]|$)")
_HEAD = re.compile(r"(?:[^\S\n]|\\\r?\n)*")


class Grammar(Words):
    """Reads a script once."""

    def __init__(self, text: str, at: int = 0, *, depth: int = 0, left: int = 200_000) -> None:
        """Begin at an index; `depth`: in how many ``$(`` it stands."""
        super().__init__(text, at, depth=depth, left=left)
        self.events: list[Simple | Mark] = []
        self.blocks: list[str] = []
        self.before = ""
        self.function = ""
        self.is_negated = self.is_pattern = False
        self.waiting: list[Heredoc] = []
        self.has_ended = False

    def read(self) -> list[Simple | Mark]:
        """Return commands and blocks."""
        while self.at < len(self.text) and not self.has_ended:
            self.step()
            if len(self.events) > EVENT_LIMIT or len(self.blocks) > BLOCK_LIMIT:
                self.stop()
        while self.blocks:
            self.close(self.blocks[-1])
        return self.events

    def commands_end(self, at: int) -> int:
        """Return the index after the parenthesis that closes commands beginning at an index."""
        if self.depth >= NEST_LIMIT:
            self.is_cut = True
            return len(self.text)
        inner = Grammar(self.text, at, depth=self.depth + 1, left=self.left)
        inner.read()
        self.left = inner.left
        self.is_cut = self.is_cut or inner.is_cut
        return inner.at

    def step(self) -> None:
        """Read what comes next."""
        self.skip_blanks()
        if self.at >= len(self.text):
            return
        if comment := _COMMENT.match(self.text, self.at):
            self.at = comment.end()
        elif operator := _OPERATOR.match(self.text, self.at):
            self.at = operator.end()
            self.operator(operator[0].lstrip("\r"))
        elif self.is_pattern:
            self.pattern()
        elif self.text[self.at] == "(":
            self.parenthesis()
        elif self.text[self.at] == ")":
            self.at += 1
            self.has_ended = self.depth > 0 and "(" not in self.blocks
            self.close("(")
        else:
            self.command()

    def operator(self, text: str) -> None:
        """Note what stands between two commands."""
        if text == "\n":
            self.read_heredocs()
        if text.startswith(";") and text != ";" and "case" in self.blocks:
            self.close_above("case")
            self.is_pattern = True
        if text != "\n" or self.before not in {"&&", "||", "|", "|&"}:
            self.before = text

    def read_heredocs(self) -> None:
        """Read the lines that follow, up to each mark."""
        for each in self.waiting:
            each.at = each.end = self.at
            while self.at < len(self.text):
                end = self.find("\n", self.at)
                row = self.text[self.at : end].rstrip("\r")
                self.at = min(end + 1, len(self.text))
                if (row.lstrip("\t") if each.is_indented else row) == each.mark:
                    break
                each.end = self.at
        self.waiting = []

    def parenthesis(self) -> None:
        """Read ``((sum))``, or begin a subshell."""
        start = self.at
        if self.text.startswith("((", start):
            end = self.closing(start + 1, ")")
            if self.text.startswith("))", end - 2) or end == len(self.text):
                self.at = end
                self.add(Simple((), (), self.before, is_test=True))
                return
        self.at = start + 1
        self.open("(")

    def open(
        self, what: str, name: str = "", items: tuple[RawWord, ...] | None = None, kind: str = ""
    ) -> None:
        """Begin a block; it may be the body of a function."""
        if self.function and what in "({":
            self.add(Mark("open", "function", self.before, self.function))
            self.blocks.append(f"{what}function")
            self.function = ""
        else:
            self.add(Mark("open", what, self.before, name, items))
            self.blocks.append(kind or what)
        self.before = ""

    def close(self, what: str) -> None:
        """End the innermost block of a kind, and those in it; nothing where there is none."""
        self.is_negated = self.is_pattern = False
        kinds = (what, f"{what}function")
        if any(each in kinds for each in self.blocks):
            while self.blocks:
                last = self.blocks.pop()
                self.add(Mark("close", "function" if last.endswith("function") else last))
                if last in kinds:
                    break
        self.before = ""

    def close_above(self, what: str) -> None:
        """End the blocks within the innermost one of a kind."""
        while self.blocks[-1] != what:
            self.close(self.blocks[-1])

    def add(self, event: Simple | Mark) -> None:
        """Note what was read."""
        self.events.append(event)
        self.is_negated = False

    def command(self) -> None:
        """Read a word that has a meaning of its own, or a simple command."""
        start = self.at
        first = None if _REDIRECTION.match(self.text, start) else self.word()
        plain = first.plain if first is not None else ""
        if first is not None and self.at == start:  # a character that no word begins with
            self.at += 1
        elif not self.block(plain) and not self.definition(plain):
            self.simple(first)

    def block(self, plain: str) -> bool:
        """Read a word that begins, divides or ends a block; False of any other."""
        if plain in _CLOSES:
            self.close(_CLOSES[plain])
        elif plain in _OPENS:
            self.open(_OPENS[plain])
        elif plain in _PARTS:
            self.add(Mark("part", plain))
            self.before = ""
        elif plain in {"for", "select"}:
            self.loop()
        elif plain == "case":
            self.case()
        elif plain == "[[":
            self.test()
        else:
            return False
        return True

    def definition(self, plain: str) -> bool:
        """Read ``!``, or the name of a function that begins; False of any other word."""
        found = _FUNCTION.match(self.text, self.at)
        if plain == "!":
            self.is_negated = True
        elif plain == "function":
            self.skip_blanks()
            self.function = self.word().plain
            if found := _FUNCTION.match(self.text, self.at):
                self.at = found.end()
        elif plain and found:
            self.function, self.at = plain, found.end()
        else:
            return False
        return True

    def simple(self, first: RawWord | None) -> None:
        """Read the words up to the next operator."""
        self.function = ""
        words = [] if first is None else [first]
        redirections: list[Redirection] = []
        while self.at < len(self.text):
            self.skip_blanks()
            rest = self.text[self.at : self.at + 2]
            if found := _REDIRECTION.match(self.text, self.at):
                redirections.append(self.redirection(found))
            elif not rest or rest[0] in "\n;&|()#" or rest == "\r\n":
                break
            else:
                before = self.at
                words.append(self.word())
                if self.at == before:  # a character that no word begins with
                    self.at += 1
                    words.pop()
        if words:
            is_test = self.is_negated
            self.add(Simple(tuple(words), tuple(redirections), self.before, is_test))
            self.before = ""

    def redirection(self, found: re.Match[str]) -> Redirection:
        """Read where to or from."""
        self.at = found.end()
        self.skip_blanks()
        target = self.word()
        heredoc = None
        if found[1] in {"<<", "<<-"}:
            mark = "".join(each.text for each in target.pieces)
            is_quoted = self.text[target.at : target.end] != mark
            heredoc = Heredoc(mark, found[1] == "<<-", is_quoted)
            self.waiting.append(heredoc)
        return Redirection(found[1], target, heredoc)

    def document(self, heredoc: Heredoc) -> RawWord:
        """Return a here-document as a word."""
        if heredoc.is_quoted:
            body = Piece(self.text[heredoc.at : heredoc.end], heredoc.at)
            return RawWord(heredoc.at, heredoc.end, (body,))
        pieces: list[Piece] = []
        self.at = heredoc.at
        self.double(pieces, heredoc.end)
        return RawWord(heredoc.at, heredoc.end, tuple(pieces[1:]))

    def gap(self) -> None:
        """Go over blanks, line ends and comments."""
        while True:
            self.skip_blanks()
            if comment := _COMMENT.match(self.text, self.at):
                self.at = comment.end()
            elif self.text.startswith(("\n", "\r\n"), self.at):
                self.at = self.find("\n", self.at) + 1
                self.read_heredocs()
            else:
                return

    def loop(self) -> None:
        """Read ``for NAME in WORDS``, ``for NAME`` and ``for ((...))``."""
        self.skip_blanks()
        if self.text.startswith("((", self.at):
            self.at = self.closing(self.at + 1, ")")
            self.open("loop")
            return
        name = self.word().plain
        self.gap()
        back = self.at
        if self.word().plain != "in":
            self.at = back
            self.open("for", name, None, kind="loop")
            return
        items = []
        while self.at < len(self.text):
            self.skip_blanks()
            before = self.at
            items.append(self.word())
            if self.at == before:
                items.pop()
                break
        self.open("for", name, tuple(items), kind="loop")

    def case(self) -> None:
        """Read ``case WORD in``."""
        self.gap()
        self.word()
        self.gap()
        if self.word().plain == "in":
            self.open("case")
            self.is_pattern = True

    def pattern(self) -> None:
        """Read the patterns of a branch up to their parenthesis."""
        self.gap()
        start = self.at
        if self.at < len(self.text) and self.word().plain == "esac":
            self.close("case")
            return
        self.at = start + self.text.startswith("(", start)
        while self.at < len(self.text) and self.text[self.at] != ")":
            before = self.at
            self.word()
            self.at += self.at == before
        self.at = min(self.at + 1, len(self.text))
        self.is_pattern = False
        self.add(Mark("part", "pattern"))
        self.before = ""

    def test(self) -> None:
        """Read ``[[ ... ]]``: operators are words of it."""
        tested: list[RawWord] = []
        while self.at < len(self.text):
            self.gap()
            if found := _CLOSING.match(self.text, self.at):
                self.at = found.end()
                break
            before = self.at
            if self.text.startswith("=~", before):
                self.regular()
            else:
                tested.append(self.word())
            self.at += self.at == before
        self.add(Simple((), (), self.before, is_test=True, tested=tuple(tested)))
        self.before = ""

    def regular(self) -> None:
        """Read a regular expression up to a blank that stands in no parenthesis."""
        self.at += 2
        self.skip_blanks()
        depth = 0
        while self.at < len(self.text) and (depth > 0 or not self.text[self.at].isspace()):
            depth += (self.text[self.at] == "(") - (self.text[self.at] == ")")
            before = self.at
            self.word()
            self.at += self.at == before
