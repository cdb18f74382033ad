"""Commands of a shell script as words, as far as they can be known without running anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND_LIMIT = 5_000
EXPANSION_LIMIT = 200_000
"""Characters that the variables of one script may come to; what goes beyond stays open."""

_OPERATORS = ("&&", "||", ";;", ";", "|&", "|", "&", "\n", "(", ")")
_OPENING = frozenset(("if", "while", "until", "for", "case", "select"))
_CLOSING = frozenset(("fi", "done", "esac"))
_SILENT = frozenset(("then", "else", "elif", "do", "{", "}", "!", "time"))
_TESTS = frozenset(("[", "[[", "test", "which", "grep"))
_DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset"))
_BREAKS = frozenset(" \t\n;&|()<>")
# ${NAME}, ${NAME:-default}, $NAME
_EXPANSION = re.compile(
    r"\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,100})(?:(:?[-+])([^{}$`\"']{0,300}))?\}|([A-Za-z_][A-Za-z0-9_]{0,100}))"
)
_REDIRECTION = re.compile(r"[0-9]?(?:&>>?|>>?\||>>?&?|<<<|<<-?|<&?|<>)")
# <<EOF, <<-'EOF'
_HEREDOC = re.compile(r"<<(-?)[ \t]{0,9}([\"']?)([A-Za-z_][A-Za-z0-9_]{0,60})\2")
_HEREDOCS = 20
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}=")


class Word(msgspec.Struct, frozen=True):
    """One word of a command."""

    text: str
    at: int
    """Where it begins."""
    is_open: bool = False
    """Whether something in it is only known when it runs."""


class Command(msgspec.Struct, frozen=True):
    """One simple command."""

    words: tuple[Word, ...]
    before: str = ""
    """Operator before it: ``&&``, ``||``, ``|``, ``;``."""
    is_conditional: bool = False
    """Whether it runs only under a condition, or several times."""
    redirected: tuple[str, ...] = ()
    """Names of files that output goes to."""

    @property
    def text(self) -> str:
        """Return it as one line."""
        return " ".join(word.text for word in self.words)


def assignment(word: Word) -> tuple[str, str] | None:
    """Return name and value of ``NAME=value``, None where a word is none."""
    found = _ASSIGNMENT.match(word.text)
    return (found[0][:-1], word.text[found.end() :]) if found else None


def read_commands(text: str, variables: Mapping[str, str | None], start: int = 0) -> list[Command]:
    """Return the commands of a script; variables that are None or missing stay open."""
    return _Scanner(text, variables, start).commands()


class _Scanner:
    """One pass over a script."""

    def __init__(self, text: str, variables: Mapping[str, str | None], start: int) -> None:
        self.text, self.pos = text, start
        self.variables: dict[str, str | None] = dict(variables)
        self.found: list[Command] = []
        self.words: list[Word] = []
        self.redirected: list[str] = []
        self.before = ""
        self.depth = 0
        self.in_function, self.braces = False, 0
        self.heredocs: list[tuple[str, bool]] = []
        self.left = EXPANSION_LIMIT
        # the word that is being read
        self.parts: list[str] = []
        self.began, self.in_word, self.is_open = 0, False, False

    def commands(self) -> list[Command]:
        while self.pos < len(self.text) and len(self.found) < COMMAND_LIMIT:
            self.step()
        self.end_command("")
        return self.found

    def step(self) -> None:
        text, char = self.text, self.text[self.pos]
        if char == "\\":
            if text[self.pos + 1 : self.pos + 2] != "\n":
                self.take(text[self.pos + 1 : self.pos + 2], 2)
            else:
                self.pos += 2
        elif char == "'":
            end = text.find("'", self.pos + 1)
            end = end if end >= 0 else len(text)
            self.take(text[self.pos + 1 : end], end + 1 - self.pos)
        elif char == '"':
            self.quoted()
        elif char in "$`":
            self.expansion(is_quoted=False)
        elif char == "#" and not self.in_word:
            end = text.find("\n", self.pos)
            self.pos = end if end >= 0 else len(text)
        elif char in " \t\r":
            self.end_word()
            self.pos += 1
        elif (match := _REDIRECTION.match(text, self.pos)) and (char in "<>&" or not self.in_word):
            self.redirection(match)
        elif operator := next((each for each in _OPERATORS if text.startswith(each, self.pos)), ""):
            self.pos += len(operator)
            self.end_command(operator)
        else:
            self.take(char, 1)

    def take(self, piece: str, width: int) -> None:
        if not self.in_word:
            self.in_word, self.began = True, self.pos
        self.parts.append(piece)
        self.pos += width

    def quoted(self) -> None:
        """Read what stands in double quotes."""
        self.take("", 1)
        text = self.text
        while self.pos < len(text) and text[self.pos] != '"':
            char = text[self.pos]
            if char in "$`":
                self.expansion(is_quoted=True)
            elif char == "\\" and text[self.pos + 1 : self.pos + 2] in {'"', "\\", "$", "`", "\n"}:
                following = text[self.pos + 1]
                self.take("" if following == "\n" else following, 2)
            else:
                self.take(char, 1)
        self.pos += 1

    def expansion(self, *, is_quoted: bool) -> None:
        """Read ``$NAME``, ``${NAME:-x}``, ``$(...)`` or backticks."""
        found = _EXPANSION.match(self.text, self.pos)
        if found is None:
            self.substitution()
            return
        value = self.value(found)
        self.left -= len(value or "")
        if value is None or self.left < 0:
            self.is_open = True
            self.take(found[0], len(found[0]))
            return
        if is_quoted or not value.strip():
            self.take(value, len(found[0]))
            return
        self.split(value, len(found[0]))

    def split(self, value: str, width: int) -> None:
        """Add a value that the shell splits into words."""
        at, pieces = self.pos, value.split()
        for index, piece in enumerate(pieces):
            if index or value[0].isspace():
                self.end_word()
            self.pos = at
            self.take(piece, 0)
        self.pos = at + width
        if value[-1].isspace():
            self.end_word()

    def value(self, found: re.Match[str]) -> str | None:
        name, operator, word = found[1] or found[4], found[2] or "", found[3] or ""
        is_known = name in self.variables
        value = self.variables.get(name)
        if operator.endswith("-"):
            return word if not is_known or value == "" else value
        if operator.endswith("+"):
            return None if value is None else word if value else ""
        return value

    def substitution(self) -> None:
        """Skip ``$(...)``, backticks and what else is only known at run time."""
        text, at = self.text, self.pos
        self.is_open = True
        if text.startswith(("$(", "${"), at):
            opening, closing = text[at + 1], ")" if text[at + 1] == "(" else "}"
            depth, end = 0, at + 1
            while end < len(text):
                depth += (text[end] == opening) - (text[end] == closing)
                end += 1
                if not depth:
                    break
        elif text[at] == "`":
            end = text.find("`", at + 1) + 1 or len(text)
        else:
            end = min(at + 2, len(text))
        self.take(text[at:end], end - at)

    def skip_heredocs(self) -> None:
        """Go on behind the texts that commands of the line before are fed with."""
        for mark, is_indented in self.heredocs:
            at = self.pos
            while at < len(self.text):
                end = self.text.find("\n", at)
                end = end if end >= 0 else len(self.text)
                line, at = self.text[at:end].rstrip("\r"), end + 1
                if (line.lstrip("\t") if is_indented else line) == mark:
                    self.pos = min(at, len(self.text))
                    break
        self.heredocs = []

    def redirection(self, found: re.Match[str]) -> None:
        self.end_word()
        if heredoc := _HEREDOC.match(self.text, self.pos):
            self.heredocs = [*self.heredocs[-_HEREDOCS:], (heredoc[3], bool(heredoc[1]))]
        self.pos = found.end()
        while self.pos < len(self.text) and self.text[self.pos] in " \t":
            self.pos += 1
        start = self.pos
        while self.pos < len(self.text) and self.text[self.pos] not in _BREAKS:
            self.pos += 1
        self.redirected.append(self.text[start : self.pos])

    def follows_a_test(self) -> bool:
        """Say whether what comes runs only if the command before it found something to be so."""
        if self.before != "&&" or not self.found:
            return False
        last = self.found[-1]
        is_chained = last.before == "&&" and last.is_conditional
        return is_chained or last.words[0].text in _TESTS

    def end_word(self) -> None:
        if self.in_word:
            word = Word("".join(self.parts), self.began, self.is_open)
            self.words.append(word)
        self.parts, self.in_word, self.is_open = [], False, False

    def assign(self, command: Command) -> None:
        """Remember the variables that a command sets; under a condition nobody knows them."""
        words = command.words
        if words[0].text in _DECLARING:
            words = tuple(word for word in words[1:] if not word.text.startswith("-"))
        pairs = [(assignment(word), word) for word in words]
        if not all(pair for pair, _ in pairs):
            return  # they are for one program alone
        for pair, word in pairs:
            if pair is not None:
                is_known = not (word.is_open or command.is_conditional)
                self.variables[pair[0]] = pair[1] if is_known else None

    def defines(self, operator: str) -> bool:
        """Say whether a function begins, whose commands run when somebody calls it."""
        names = [word.text for word in self.words]
        if operator == "(" and self.text.startswith(")", self.pos):
            return len(names) == 1 or names[:1] == ["function"]
        if names[:1] == ["function"] and names[2:3] == ["{"]:
            self.brace("{", is_first=True)
            return True
        return False

    def brace(self, word: str, *, is_first: bool = False) -> None:
        """Count the braces of the function that is being read."""
        if word == "{" and (self.in_function or is_first):
            self.braces += 1
            self.depth += self.braces == 1
        elif word == "}" and self.braces:
            self.braces -= 1
            self.depth -= not self.braces
            self.in_function = self.braces > 0

    def end_command(self, operator: str) -> None:
        self.end_word()
        while self.words and self.words[0].text in (_OPENING | _CLOSING | _SILENT):
            word = self.words.pop(0).text
            self.depth += (word in _OPENING) - (word in _CLOSING)
            self.brace(word)
        if self.defines(operator):
            self.in_function, self.words = True, []
        if self.words:
            is_conditional = self.depth > 0 or self.before == "||" or self.follows_a_test()
            command = Command(
                tuple(self.words), self.before, is_conditional, tuple(self.redirected)
            )
            self.found.append(command)
            self.assign(command)
        if self.words or operator not in {"\n", "("}:
            self.before = operator
        self.words, self.redirected = [], []
        if operator == "\n":
            self.skip_heredocs()
