"""Texts that a script gives to a shell: ``bash -c "..."``, ``eval``, here-documents."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_events import Heredoc, Mark, Redirection, Simple
from fadoctor.syntax.shell_filled_words import FilledWord
from fadoctor.syntax.shell_pieces import Piece, RawWord

if TYPE_CHECKING:
    from fadoctor.syntax.shell_variables import Variables

_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh", "ash"))
_GIVES = re.compile(r"-[a-zA-Z]{0,12}c[a-zA-Z]{0,12}")
_VALUED = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))
_PRINTS = frozenset(("echo", "printf"))


class Given(msgspec.Struct, frozen=True):
    """A text for a shell: a word, or a part of the script."""

    word: FilledWord | None = None
    at: int = 0
    end: int = 0
    is_elsewhere: bool = False
    """Whether another program starts the shell."""
    is_same_shell: bool = False
    """Whether the script's own shell reads it: ``eval``."""


class Caller(msgspec.Struct, frozen=True):
    """A command that may give a text to a shell."""

    words: tuple[FilledWord, ...]
    start: int
    redirections: tuple[Redirection, ...]
    piped: Simple | None
    """What its input comes from."""


def inner_text(caller: Caller, variables: Variables) -> Given | None:
    """Return what a command gives to a shell, None where it gives nothing that is known."""
    names = [posixpath.basename(w.text) if len(w.text) < 80 else "" for w in caller.words]
    name = names[caller.start] if caller.start < len(names) else ""
    if name == "eval":
        return Given(variables.join(caller.words[caller.start + 1 :]), is_same_shell=True)
    if name == "su" and "-c" in names[:-1]:
        return Given(caller.words[names.index("-c") + 1])
    for at in range(caller.start, len(names)):
        if names[at] in _SHELLS:
            found = _of_shell(caller, at, variables)
            if found is not None:
                return msgspec.structs.replace(found, is_elsewhere=at > caller.start)
    return None


def _of_shell(caller: Caller, at: int, variables: Variables) -> Given | None:
    """Return what the shell at an index reads."""
    words, at = caller.words, at + 1
    is_shell_first = at == caller.start + 1
    has_text = False
    while at < len(words) and words[at].text[:1] in {"-", "+"}:
        option = words[at].text
        has_text = has_text or _GIVES.fullmatch(option) is not None
        at += 2 if option in _VALUED else 1
        if option == "-s":
            at = len(words)
    if has_text:
        return Given(words[at]) if at < len(words) else None
    return _input(caller, variables) if is_shell_first and at >= len(words) else None


def _input(caller: Caller, variables: Variables) -> Given | None:
    """Return what a shell reads from its input."""
    for each in reversed(caller.redirections):
        if each.heredoc is not None:
            return _document(each.heredoc)
        if each.operator == "<<<":
            return Given(variables.text(each.target))
        if each.operator == "<":
            return None
    return None if caller.piped is None else _piped(caller.piped, variables)


def _piped(before: Simple, variables: Variables) -> Given | None:
    """Return what a shell reads from the command before it."""
    name = before.words[0].plain
    document = next((each.heredoc for each in before.redirections if each.heredoc), None)
    if name == "cat" and len(before.words) == 1 and document is not None:
        return _document(document)
    if name in _PRINTS and len(before.words) == 2 and not before.redirections:
        return Given(variables.text(before.words[1]))
    return None


def _document(document: Heredoc) -> Given:
    return Given(None, document.at, document.end)


def moved(event: Simple | Mark, word: FilledWord) -> Simple | Mark:
    """Return what was read in the text of a word, at its places in the script."""
    if isinstance(event, Mark):
        items = None if event.items is None else tuple(_raw(each, word) for each in event.items)
        return msgspec.structs.replace(event, items=items)
    redirections = tuple(
        msgspec.structs.replace(each, target=_raw(each.target, word)) for each in event.redirections
    )
    words = tuple(_raw(each, word) for each in event.words)
    return msgspec.structs.replace(event, words=words, redirections=redirections)


def _raw(raw: RawWord, word: FilledWord) -> RawWord:
    items = None if raw.items is None else tuple(_raw(each, word) for each in raw.items)
    pieces = tuple(_piece(each, word) for each in raw.pieces)
    return RawWord(word.place(raw.at), word.place(raw.end), pieces, items)


def _piece(piece: Piece, word: FilledWord) -> Piece:
    default = tuple(_piece(each, word) for each in piece.default)
    return msgspec.structs.replace(piece, at=word.place(piece.at), default=default)
