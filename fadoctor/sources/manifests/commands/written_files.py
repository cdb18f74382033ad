"""Lists of packages that the commands of a script write: ``echo torch==2.7.0 > /tmp/list.txt``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_commands import Depends

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.commands.working_folder import WorkingFolder
    from fadoctor.sources.manifests.images.planned_stage import Stage
    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.dockerfile import Text
    from fadoctor.syntax.shell_commands import ShellCommand
    from fadoctor.syntax.shell_events import Redirection
    from fadoctor.syntax.shell_pieces import RawWord

_NEW, _MORE = (">", ">|"), ">>"
_OPEN = re.compile(r"[$`\\]")
# '%s\n' writes each word on a line of its own
_EACH = re.compile(r"%s(?:\\n|\n)")
_LIMIT = 2000


def watch_writing(command: ShellCommand, text: Text, stage: Stage, folder: WorkingFolder) -> None:
    """Keep what a command writes to a file, each line with its place; forget what is unclear."""
    for each in command.redirections:
        path = folder.path(_plain(each.target)) if each.operator in (*_NEW, _MORE) else None
        if path is None:
            continue
        before = stage.written.get(path) if each.operator == _MORE else ()
        lines = _lines(command, text) if command.depends is Depends.NOTHING else None
        if before is None or lines is None or len(before) + len(lines) > _LIMIT:
            stage.written.pop(path, None)
        else:
            stage.written[path] = (*before, *lines)


def written(path: str, source: Source, stage: Stage, folder: WorkingFolder) -> Source | None:
    """Return a file that commands wrote as a text whose lines stand where they are written."""
    lines = stage.written.get(folder.path(path) or "")
    rows = {place.line: " " * (place.column - 1) + line for line, place in lines or ()}
    if not lines or len(rows) < len(lines) or any(p.file != source.name for _, p in lines):
        return None
    every = (rows.get(number, "") for number in range(1, max(rows) + 1))
    return msgspec.structs.replace(source, text="\n".join(every))


def _lines(command: ShellCommand, text: Text) -> tuple[tuple[str, Place], ...] | None:
    """Return what a command prints, None where only a run would tell."""
    words = command.words[command.start :]
    name = words[0].text if words else ""
    found = next((each for each in command.redirections if each.heredoc), None)
    if name == "cat" and len(words) == 1 and found is not None:
        return _document(found, text)
    told = words[1:] if name == "echo" else words[2:]
    if name == "printf" and not (len(words) > 2 and _EACH.fullmatch(words[1].text)):
        return None
    if name not in {"echo", "printf"} or (name == "echo" and len(told) != 1):
        return None
    if any(each.is_open or "\n" in each.text or each.text.startswith("-") for each in told):
        return None
    return tuple((each.text, text.place(each.place(0))) for each in told)


def _document(redirection: Redirection, text: Text) -> tuple[tuple[str, Place], ...] | None:
    document = redirection.heredoc
    if document is None or (
        not document.is_quoted and _OPEN.search(text.text, document.at, document.end)
    ):
        return None
    return tuple(_rows(text, document.at, document.end))


def _rows(text: Text, start: int, end: int) -> Iterator[tuple[str, Place]]:
    at = start
    for line in text.text[start:end].split("\n"):
        if line.strip():
            yield line, text.place(at)
        at += len(line) + 1


def _plain(word: RawWord) -> str:
    """Return the text of a word that is known as it is written, "" of any other."""
    if any(each.is_open or each.variable for each in word.pieces):
        return ""
    return "".join(each.text for each in word.pieces)


def is_bound(redirection: Redirection) -> bool:
    """Say whether a redirection was meant as the bound of a version: ``torch>=2.0``."""
    pieces = redirection.target.pieces
    return redirection.operator == ">" and bool(pieces) and pieces[0].text.startswith("=")
