"""The text of a configuration: a regular file of bounded size, parsed once into a placed tree."""

from __future__ import annotations

import os
import stat
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.model.place import Place

if TYPE_CHECKING:
    from fadoctor.configs.tree import Node

SIZE_LIMIT = 2 << 20
"""Bytes of one configuration that are read."""

_NO_DOCUMENT = (".py", ".sh", ".bash", ".ipynb", ".txt", ".md", ".toml", ".ini", ".cfg")
_YAML = (".yaml", ".yml")


class Source(msgspec.Struct, frozen=True, dict=True):
    """One file, read."""

    name: str
    """As it was named."""
    text: str
    """Without byte order mark; what is no UTF-8 stands as U+FFFD."""

    @property
    def base(self) -> str:
        """The file's own name, lower case."""
        return os.path.basename(self.name).lower()  # noqa: PTH119 -- a name, not a file

    @property
    def is_json(self) -> bool:
        """Whether its name or its beginning says JSON."""
        return self.base.endswith(".json") or (
            not self.base.endswith(_YAML) and self.text.lstrip()[:1] == "{"
        )

    def document(self) -> Node | None:
        """Return the tree of YAML or JSON; None of a script, a Dockerfile, an empty file.

        InputError with line and key where it claims to be one of them and is not.
        """
        return self._document

    def content(self) -> Node:
        """Return the tree of a file that must hold something; InputError where it is empty."""
        document = self.document()
        if document is None:
            raise self.error("is empty")
        return document

    @cached_property
    def _document(self) -> Node | None:
        if self.is_json:
            from fadoctor.configs.json_tree import read_json  # noqa: PLC0415 -- one of the two

            return read_json(self)
        if not self.is_yaml:
            return None
        from fadoctor.configs.yaml_tree import read_yaml  # noqa: PLC0415

        return read_yaml(self)

    @property
    def is_yaml(self) -> bool:
        """Whether its name says YAML, or nothing says anything else."""
        if self.base.endswith(_YAML):
            return True
        named_otherwise = self.base.endswith(_NO_DOCUMENT) or self.base.startswith("dockerfile")
        return not named_otherwise and "." not in self.base and not self.text.startswith("#!")

    def at(self, line: int, column: int = 1) -> Place:
        """Return a place in this file."""
        return Place(self.name, line, column)

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        """Return the error to raise about this file."""
        return InputError(self.name, problem, line=line, key=key)


def open_source(name: str) -> Source:
    """Return the file that the command line names; InputError where it is no text to read."""
    shown = printable(name)
    try:
        data = _bytes_of(name, shown)
    except OSError as error:
        raise InputError(shown, error.strerror or "cannot be read") from error
    except ValueError as error:  # a NUL in the name
        raise InputError(shown, "not a path") from error
    if len(data) > SIZE_LIMIT:
        raise InputError(shown, f"larger than {SIZE_LIMIT >> 20} MiB")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(shown, "holds a NUL byte: it is no UTF-8 text", line=line)
    return Source(shown, data.decode("utf-8-sig", errors="replace"))


def _bytes_of(name: str, shown: str) -> bytes:
    """Return the content of a regular file; devices and pipes are not even opened."""
    _refuse_special(shown, Path(name).stat())
    # Not blocking: what was a file a moment ago can be a pipe by now.
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        _refuse_special(shown, os.fstat(descriptor))
        return file.read(SIZE_LIMIT + 1)


def _refuse_special(name: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(name, "is a folder; name the file in it")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(name, "is no regular file")
    if status.st_size > SIZE_LIMIT:
        raise InputError(name, f"larger than {SIZE_LIMIT >> 20} MiB")
