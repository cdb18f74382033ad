"""The text of a configuration: a regular file of bounded size, parsed once into a placed tree."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.model.place import Place
from fadoctor.syntax.named_file import read_named

if TYPE_CHECKING:
    from fadoctor.syntax.tree import Node

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
            from fadoctor.syntax.json_tree import read_json  # noqa: PLC0415 -- one of the two

            return read_json(self)
        if self.base.endswith(".toml"):
            from fadoctor.sources.configs.toml_nodes import read_toml  # noqa: PLC0415

            return read_toml(self)
        if not self.is_yaml:
            return None
        from fadoctor.syntax.yaml_tree import read_yaml  # noqa: PLC0415

        return read_yaml(self)

    @property
    def is_yaml(self) -> bool:
        """Whether its name says YAML, or nothing says anything else."""
        if self.base.endswith(_YAML):
            return True
        named_otherwise = self.base.endswith(_NO_DOCUMENT) or self.base.startswith("dockerfile")
        return not named_otherwise and "." not in self.base and not self.text.startswith("#!")

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The lines of the text."""
        return tuple(self.text.split("\n"))

    def at(self, line: int, column: int = 1) -> Place:
        """Return a place in this file."""
        return Place(self.name, line, column)

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        """Return the error to raise about this file."""
        return InputError(self.name, problem, line=line, key=key)


def open_source(name: str, fence: str = "") -> Source:
    """Return the file that the command line names; InputError where it is no text to read.

    Nothing is read outside of the `fence`, where there is one.
    """
    shown = printable(name)
    data, _ = read_named(shown, name, SIZE_LIMIT, fence)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(shown, "has a NUL byte: it is not UTF-8 text", line=line)
    return Source(shown, data.decode("utf-8-sig", errors="replace"))
