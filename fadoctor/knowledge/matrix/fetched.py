"""A release of rules that `fadoctor rules update` fetched, as it lies in the user's data folder.

Nothing that lies there can end a command: what cannot be used is passed over for what was shipped,
and the report says so in one line.
"""

# A circle with `load`, which imports this file only where a release of rules was fetched.

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fadoctor import __version__
from fadoctor.knowledge.matrix.load import FORM, Stamped
from fadoctor.knowledge.matrix.rule_words import words_in_rules
from fadoctor.model.errors import FadoctorError
from fadoctor.model.fact import printable
from fadoctor.model.rule import with_written_parts
from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.rule import Knowledge

COMPILED_FILES = ("apart.json", "cases.json", "knowledge.json")
RELEASE_FILE = "release.json"
SIZE_LIMIT = 64 << 20
"""Largest compiled file that is read, bytes."""

_SMALL = 1 << 16
_READ_OWN = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_FOLDER = re.compile(r"[0-9]{4}(\.[0-9]{1,4}){1,4}-[0-9a-f]{12}")
_VERSION = re.compile(r"[0-9]{4}(\.[0-9]{1,4}){1,4}")
_T = TypeVar("_T", bound=msgspec.Struct)
_REPAIR = "`fadoctor rules update` fetches them again, `--undo` removes them"


class Pointer(msgspec.Struct, frozen=True):
    """Which release is in use, and which was before it: names of folders beside the pointer."""

    folder: str
    before: str = ""
    """Empty for what was shipped."""


class FetchedRelease(msgspec.Struct, frozen=True):
    """What is known of a release that was fetched."""

    version: str
    sha256: str
    """Of the archive, or of the files where no archive was seen."""
    source: str
    """Where it came from, in words."""
    date: str
    """The day on which it was fetched, ``2026-11-23``."""
    form: str
    """Of the compiled files."""
    fadoctor: str
    """The version that compiled it."""
    sizes: dict[str, int] = {}
    """Compiled file -> its size in bytes."""


class FetchedRules(msgspec.Struct, frozen=True):
    """What lies in the data folder: a release that can be used, or why there is none."""

    folder: Path | None = None
    release: FetchedRelease | None = None
    problem: str = ""
    """Why it cannot be used; empty also where what was shipped is newer."""


def version_key(version: str) -> tuple[int, ...] | None:
    """Return a version as numbers that can be compared; None for what is none."""
    if not _VERSION.fullmatch(version):
        return None
    return tuple(int(part) for part in version.split("."))


def read_pointer(pointer: Path) -> Pointer | None:
    """Return what a pointer says; None where it is damaged."""
    found = _decoded(pointer, Pointer)
    names = (found.folder, found.before or found.folder) if found is not None else ("",)
    return found if all(_FOLDER.fullmatch(name) for name in names) else None


def read_release(folder: Path) -> FetchedRelease | None:
    """Return what is known of a release in a folder; None where that is damaged."""
    return _decoded(folder / RELEASE_FILE, FetchedRelease)


def find(pointer: Path, shipped: Callable[[], Knowledge]) -> FetchedRules:
    """Return the release that a pointer names, looked at from outside."""
    named = read_pointer(pointer)
    release = read_release(pointer.parent / named.folder) if named is not None else None
    if named is None or release is None:
        return FetchedRules(problem="what was fetched is damaged")
    folder = pointer.parent / named.folder
    words = f"those of {printable(release.version, 40)}, fetched on {printable(release.date, 20)},"
    if release.fadoctor != __version__ and not _is_newer(release, shipped()):
        return FetchedRules()
    if release.form != FORM:
        return FetchedRules(problem=f"{words} were made for another version of fadoctor")
    if any(_size(folder / name) != release.sizes.get(name, -1) for name in COMPILED_FILES):
        return FetchedRules(problem=f"{words} are damaged")
    return FetchedRules(folder, release)


def fetched_folder(pointer: Path, shipped: Callable[[], Knowledge]) -> Path | None:
    """Return the folder of the compiled files in use; None where the shipped ones are."""
    return find(pointer, shipped).folder


def fetched_knowledge(pointer: Path, shipped: Callable[[], Knowledge]) -> Knowledge:
    """Return the fetched knowledge; else the shipped, with the reason as its origin."""
    found = find(pointer, shipped)
    problem = found.problem
    if found.folder is not None and found.release is not None:
        knowledge = _knowledge_in(found.folder / "knowledge.json")
        if knowledge is not None and knowledge.version == found.release.version:
            return msgspec.structs.replace(knowledge, origin=words_of(found.release))
        problem = f"those of {found.release.version} are damaged"
    known = shipped()
    if not problem:
        return known
    said = f"as shipped, because {problem}: {_REPAIR}"
    return msgspec.structs.replace(known, origin=said)


def _knowledge_in(file: Path) -> Knowledge | None:
    """Return the knowledge of a compiled file; None where it, or any table of it, is damaged."""
    stamped = _decoded(file, Stamped, SIZE_LIMIT)
    if stamped is None:
        return None
    knowledge = stamped.opened(file)
    try:
        # All at once: what is found damaged later would end a command.
        for rule in knowledge.rules:
            with_written_parts(rule)
        words_in_rules(knowledge)
        return msgspec.structs.replace(knowledge, tables=dict(knowledge.tables))
    except (FadoctorError, msgspec.DecodeError):
        return None


def words_of(release: FetchedRelease) -> str:
    """Return where a release came from, in words."""
    return f"fetched on {printable(release.date, 20)} from {printable(release.source, 120)}"


def _is_newer(release: FetchedRelease, known: Knowledge) -> bool:
    mine, theirs = version_key(release.version), version_key(known.version)
    return mine is not None and theirs is not None and mine > theirs


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -2


def _decoded(path: Path, kind: type[_T], limit: int = _SMALL) -> _T | None:
    try:
        with os.fdopen(os.open(path, _READ_OWN), "rb") as stream:
            if hasattr(os, "geteuid") and os.fstat(stream.fileno()).st_uid not in (0, os.geteuid()):
                return None  # another user's
            return decode(stream.read(limit), kind)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
