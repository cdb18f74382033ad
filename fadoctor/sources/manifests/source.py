"""The text of a manifest, and of what it includes: regular files only, none larger than meant."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.syntax.named_file import read_named

SIZE_LIMIT = 8 << 20
"""Bytes of one file that are read: a lock of thousands of packages has less."""

TOTAL_LIMIT = 24 << 20
"""Bytes of a file and all that it includes."""

FILE_LIMIT = 64
"""Files of one manifest, each include counted."""

DEPTH_LIMIT = 16
HEAD = 1024
"""Characters that a reader may look at to recognise a file."""

_ENCODINGS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""How a file begins -> how it is written: Windows shells redirect as UTF-16."""


class Budget:
    """What one manifest may still read, counted over all its includes."""

    def __init__(self) -> None:
        """Begin with everything."""
        self.files, self.bytes = FILE_LIMIT, TOTAL_LIMIT

    def spend(self, name: str, size: int) -> None:
        """Count a file; InputError where that is one too many."""
        self.files -= 1
        self.bytes -= size
        if self.files < 0:
            raise InputError(name, f"more than {FILE_LIMIT} files include each other")
        if self.bytes < 0:
            raise InputError(name, f"with its includes larger than {TOTAL_LIMIT >> 20} MiB")


class Source(msgspec.Struct, frozen=True):
    """One file, read."""

    name: str
    """As it was named, or relative to the file that includes it."""
    text: str
    """Without byte order mark, line ends as written; what is no UTF-8 is kept as surrogates."""
    path: Path
    encoding: str = "utf-8"
    within: tuple[tuple[int, int], ...] = ()
    """Device and inode of this file and of those that include it, the outermost first."""
    budget: Budget = msgspec.field(default_factory=Budget)
    choice: ManifestRequest = ManifestRequest()
    """Extras and groups that its reader takes."""
    instead: Mapping[str, str] = {}
    """Name of a file -> the text that it would have, for files that this one includes."""
    fence: str = ""
    """Folder that nothing leads out of; "" where this file may include any other."""

    @property
    def head(self) -> str:
        """The beginning, by which readers recognise what they can read."""
        return self.text[:HEAD]

    @property
    def is_included(self) -> bool:
        """Whether another file names this one; what it says is then not quoted in errors."""
        return len(self.within) > 1

    def lines(self) -> list[str]:
        """Return the lines without their ends; only line feeds end one."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        """Return the error to raise about this file."""
        return InputError(self.name, problem, line=line, key=key)

    def read_beside(self, path: str) -> Source:
        """Return a file that this one includes, relative to its folder.

        InputError where it is no regular file, too large, includes itself, lies outside of the
        fence, or is one too many.
        """
        if len(self.within) >= DEPTH_LIMIT:
            raise self.error(f"includes go more than {DEPTH_LIMIT} deep")
        name = os.path.join(os.path.dirname(self.name), path)  # noqa: PTH118, PTH120 -- "./" stays
        found = _read(_without_detour(name, self.path.parent / path), self.path.parent / path, self)
        return msgspec.structs.replace(found, text=self.instead.get(found.name, found.text))


def _without_detour(name: str, path: Path) -> str:
    """Return the shortest name of a file: docker/Dockerfile for docker/../docker/Dockerfile."""
    short = posixpath.normpath(name)
    if "/../" not in name or short.startswith(".."):
        return name
    is_same = os.path.realpath(short) == os.path.realpath(path)
    return short if is_same else name  # a link may lead another way


def open_source(name: str, choice: ManifestRequest | None = None, fence: str = "") -> Source:
    """Return the file that the command line names, to be read for what was chosen.

    Neither the name nor what the file includes leads out of the `fence`, where there is one.
    """
    return _read(
        name, Path(name), Source("", "", Path(), choice=choice or ManifestRequest(), fence=fence)
    )


def _read(name: str, path: Path, by: Source) -> Source:
    """Return a file that another one includes, with what holds for that one."""
    name = printable(name)
    data, identity = read_named(name, path, SIZE_LIMIT, by.fence)
    if identity in by.within:
        raise InputError(name, "includes itself")
    by.budget.spend(name, len(data))
    text, encoding = _decoded(name, data)
    within = (*by.within, identity)
    return Source(name, text, path, encoding, within, by.budget, by.choice, by.instead, by.fence)


def _decoded(name: str, data: bytes) -> tuple[str, str]:
    encoding = next((each for mark, each in _ENCODINGS if data.startswith(mark)), "utf-8")
    errors = "strict" if encoding == "utf-16" else "surrogateescape"
    try:
        text = data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise InputError(name, f"is not {encoding.upper()} text") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(name, "has a NUL byte: it is not text", line=line)
    return text, encoding
