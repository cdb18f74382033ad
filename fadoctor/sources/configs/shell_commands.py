"""The commands of a shell script, with the variables that the script itself sets filled in."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs.shell_words import Splitter, Word

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,80})(\+?)=(.*)", re.DOTALL)
_EXPANSION = re.compile(r"\$(?:\{([A-Za-z_]\w{0,80})(\[[@*]\])?\}|([A-Za-z_]\w{0,80}))")
# 2>&1, >&-
_TO_ITSELF = re.compile(r"[0-9]?>&[0-9-]")
_OPENING, _CLOSING = ("if", "case"), ("fi", "esac")
_KEYWORDS = frozenset({
    "then", "else", "elif", "do", "done", "in", "{", "}", "!", "time", "while", "until", "exec",
    "nohup", "sudo", *_CLOSING,
})  # fmt: skip
_SHELLS = ("bash", "sh", "zsh")
_GIVES = ("-c", "-lc", "-ec", "-exc", "-xc")
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset"})
_TESTS = ("[", "[[", "test")
_ENDS = frozenset({"\n", ";", ";;", ";&", ";;&", "&", "&&", "||", "|", "|&", "(", ")"})
_FILL_LIMIT = 50_000
"""Words that variables are replaced by in one script: they can hold each other."""
_GROW_LIMIT = 2_000
"""Words that one variable may hold."""


class Command(msgspec.Struct, frozen=True):
    """One simple command."""

    words: tuple[Word, ...]
    variables: tuple[tuple[str, Word], ...] = ()
    """What stands before it, or what ``export`` gives others: name and value."""
    is_sure: bool = True
    """Whether it runs whenever the script does."""


class _Piece(msgspec.Struct):
    words: list[Word]
    is_sure: bool
    arrays: dict[int, list[Word]]
    """Position of ``NAME=`` among the words -> what stands in its parentheses."""


class Script:
    """Collects variables first, then gives commands with them filled in."""

    def __init__(self, source: Source) -> None:
        """Begin with none."""
        self.source = source
        self.variables: dict[str, list[Word] | None] = {}
        self.left = _FILL_LIMIT

    def commands(self, words: list[Word]) -> list[Command]:
        """Return the commands in their order."""
        pieces = _pieces(words)
        for piece in pieces:
            self._note(piece)
        found = [each for piece in pieces if (each := self._command(piece)) is not None]
        return [one for each in found for one in (each, *self._given(each))]

    def _given(self, command: Command) -> list[Command]:
        """Return the commands that are given to another shell: ``srun bash -c "..."``."""
        texts = [word.text for word in command.words]
        for at, text in enumerate(texts[:-2]):
            if posixpath.basename(text) in _SHELLS and texts[at + 1] in _GIVES:
                word = command.words[at + 2]
                split = Splitter(self.source, word.text, word.line, is_all_text=False).split()
                found = [self._command(piece) for piece in _pieces(split)]
                is_sure = command.is_sure
                return [
                    msgspec.structs.replace(each, is_sure=each.is_sure and is_sure)
                    for each in found
                    if each is not None
                ]
        return []

    def _note(self, piece: _Piece) -> None:
        """Note what a command sets; what is set twice, or on a condition, is not followed."""
        words = piece.words
        head = words[0].text if words else ""
        if head == "read":
            self._note_read(words)
        elif head == "for" and len(words) > 1:
            self.variables[words[1].text] = None
        elif head in ("unset", "getopts"):
            for word in words[1:]:
                self.variables[word.text] = None
        for index, word in enumerate(words):
            found = _ASSIGNMENT.fullmatch(word.text)
            if found is None:
                if head not in _DECLARE:
                    break
                continue
            value = piece.arrays.get(index)
            if value is None:
                value = [msgspec.structs.replace(word, text=found[3], is_quoted=False)]
            self._set(found[1], value, is_added=bool(found[2]), is_sure=piece.is_sure)

    def _set(self, name: str, value: list[Word], *, is_added: bool, is_sure: bool) -> None:
        if not is_sure:
            self.variables[name] = None
        elif name not in self.variables:
            self.variables[name] = value
        else:
            before = self.variables[name]
            if before is not None and is_added and len(before) + len(value) < _GROW_LIMIT:
                self.variables[name] = [*before, *value]
            elif before is None or [w.text for w in before] != [w.text for w in value]:
                self.variables[name] = None

    def _note_read(self, words: list[Word]) -> None:
        """Note ``read -r -d '' NAME <<EOF``: the variable holds the lines that follow."""
        names = [w.text for w in words[1:] if re.fullmatch(r"[A-Za-z_]\w{0,80}", w.text)]
        body = next((w for w in words if w.body), None)
        name = names[0] if names else ""
        if name and body is not None and name not in self.variables:
            rows = Splitter(self.source, body.body, body.body_line).split()
            self.variables[name] = [word for word in rows if not word.is_operator]
        else:
            self.variables.update(dict.fromkeys(names))

    def _command(self, piece: _Piece) -> Command | None:
        words, variables = piece.words, []
        at = 0
        is_declared = bool(words) and words[0].text in _DECLARE
        for at, word in enumerate(words):
            found = _ASSIGNMENT.fullmatch(word.text)
            if at in piece.arrays:
                continue
            if found is not None:
                value = self._filled(msgspec.structs.replace(word, text=found[3]))
                variables.append((found[1], value[0] if len(value) == 1 else word))
            elif not is_declared:
                break
        else:
            at = len(words)
        rest = [] if is_declared else [w for word in words[at:] for w in self._filled(word)]
        is_exported = bool(rest) or (is_declared and words[0].text == "export")
        if not rest and not (variables and is_exported):
            return None
        return Command(tuple(rest), tuple(variables) if is_exported else (), piece.is_sure)

    def _filled(self, word: Word, depth: int = 0) -> list[Word]:
        """Return a word with what its variables hold; several where one is split into words."""
        self.left -= 1
        found = _EXPANSION.fullmatch(word.text) if self.left > 0 else None
        name = (found[1] or found[3]) if found else ""
        held = self.variables.get(name) if name else None
        if held is not None and depth < 4:
            is_split = not word.is_quoted or (found is not None and bool(found[2]))
            if is_split:
                parts = [p for one in held for p in _split(one)]
                return [w for part in parts[:_GROW_LIMIT] for w in self._filled(part, depth + 1)]
        text = _EXPANSION.sub(self._inside, word.text) if self.left > 0 else word.text
        if text != word.text and depth < 4 and len(text) < 8_000:
            return self._filled(msgspec.structs.replace(word, text=text, is_quoted=True), depth + 1)
        return [word]

    def _inside(self, found: re.Match[str]) -> str:
        held = self.variables.get(found[1] or found[3])
        return found[0] if held is None else " ".join(word.text for word in held[:20])


def _split(word: Word) -> list[Word]:
    """Return the words that an unquoted variable gives; a quoted item of an array stays one."""
    texts = word.text.split()
    return (
        [word]
        if len(texts) < 2 or word.is_quoted
        else [msgspec.structs.replace(word, text=t) for t in texts]
    )


def _pieces(words: list[Word]) -> list[_Piece]:
    """Return the simple commands, and whether each runs whenever the script does."""
    pieces: list[_Piece] = []
    open_choices, is_sure = 0, True
    piece = _Piece([], is_sure=True, arrays={})
    at = 0
    while at <= len(words):
        word = words[at] if at < len(words) else Word("\n", 0, 1, is_operator=True)
        if word.is_operator and word.text == "(" and piece.words and _is_array(words[at - 1], word):
            at = _array(words, at + 1, piece)
            continue
        if word.is_operator and word.text in _ENDS:
            if piece.words:
                pieces.append(piece)
            was_test = bool(piece.words) and piece.words[0].text in _TESTS
            is_sure = not (word.text == "||" or (word.text == "&&" and (was_test or not is_sure)))
            piece = _Piece([], is_sure=is_sure and open_choices == 0, arrays={})
        elif not piece.words and word.text in (*_OPENING, *_CLOSING, *_KEYWORDS):
            open_choices += (word.text in _OPENING) - (word.text in _CLOSING)
            piece.is_sure = is_sure and open_choices <= 0
        elif word.is_operator:
            _leave_out(piece, word)
            at += _TO_ITSELF.fullmatch(word.text) is None  # where to does not matter
        else:
            piece.words.append(word)
        at += 1
    return pieces


def _leave_out(piece: _Piece, redirection: Word) -> None:
    """Keep of a redirection only the lines that follow; the 2 of ``2>&1`` is no argument."""
    before = piece.words[-1] if piece.words else redirection
    is_beside = (before.line, before.column + 1) == (redirection.line, redirection.column)
    if is_beside and len(before.text) == 1 and before.text.isdigit():
        piece.words.pop()
    if redirection.body:
        piece.words.append(redirection)


def _is_array(name: Word, parenthesis: Word) -> bool:
    return (
        name.text.endswith("=")
        and name.line == parenthesis.line
        and name.column + len(name.text) == parenthesis.column
    )


def _array(words: list[Word], at: int, piece: _Piece) -> int:
    """Take the words up to the closing parenthesis as the value of the last word's variable."""
    held: list[Word] = []
    while at < len(words) and words[at].text != ")":
        if not words[at].is_operator:
            held.append(words[at])
        at += 1
    piece.arrays[len(piece.words) - 1] = held
    return at + 1
