"""The documents of a YAML file, each with its lines as they are in the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.syntax.yaml_tree import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.syntax.source import Source
    from fadoctor.syntax.tree import Node

DOCUMENT_LIMIT = 100
_SEPARATOR = re.compile(r"^---[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


class _Part(msgspec.Struct, frozen=True):
    """One document, below as many empty lines as stand before it in the file."""

    name: str
    text: str

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        """Return the error to raise about it."""
        return InputError(self.name, problem, line=line, key=key)


def read_documents(source: Source) -> Iterator[Node]:
    """Yield the documents that hold something; InputError as it is due."""
    begin = 0
    ends = [found.start() for found in _SEPARATOR.finditer(source.text)][:DOCUMENT_LIMIT]
    for end in (*ends, len(source.text)):
        before = source.text.count("\n", 0, begin)
        text = "\n" * before + source.text[begin:end].removeprefix("---")
        begin = end
        document = read_yaml(_Part(source.name, text)) if text.strip() else None
        if document is not None:
            yield document
