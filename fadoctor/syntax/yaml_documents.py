"""The documents of a YAML file, of JSON or of HCL, with their lines as they are in the file."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.syntax.hcl_tree import SUFFIXES, read_hcl
from fadoctor.syntax.json_remarks import without_remarks
from fadoctor.syntax.tree import walk
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
    """Yield the documents that hold something; InputError as it is due.

    HCL is one document; JSON may have remarks in it.
    """
    name = source.name.lower()
    if name.endswith(SUFFIXES):
        yield read_hcl(source)
        return
    whole = without_remarks(source.text) if name.endswith(".json") else source.text
    begin = 0
    ends = [found.start() for found in _SEPARATOR.finditer(whole)][:DOCUMENT_LIMIT]
    for end in (*ends, len(whole)):
        before = whole.count("\n", 0, begin)
        text = "\n" * before + whole[begin:end].removeprefix("---")
        begin = end
        document = read_yaml(_Part(source.name, text)) if text.strip() else None
        if document is not None:
            yield document


def read_embedded(source: Source, document: Node) -> Iterator[Node]:
    """Yield the documents that stand as texts: ``train.yaml`` of a ConfigMap, ``serveConfigV2``."""
    for path, node in walk(document):
        if _HOLDS_FILE.search(path[-1]) and isinstance(node.scalar, str):
            before = "\n" * (first_line(source.text, node) - 1)
            with suppress(InputError):
                found = read_yaml(_Part(source.name, before + node.scalar))
                if found is not None and found.mapping:
                    yield found


_HOLDS_FILE = re.compile(
    r"\.(?:ya?ml|json)$|(?:config|conf|settings|values|options|engine_?args)(?:v\d{1,2})?$",
    re.IGNORECASE,
)
"""Keys whose text is a file of its own: ``train.yaml``, ``serveConfigV2``, ``engineArgs``."""
_BLOCK = re.compile(r"(?:[|>][+\-0-9]{0,2}\s*(?:#.*)?|<<-?\w{1,40}\s*)$")


def first_line(text: str, node: Node) -> int:
    """Return the line where a text begins: below its key, where it is a block."""
    rows = text.split("\n")
    row = rows[node.line - 1] if 0 < node.line <= len(rows) else ""
    return node.line + bool(_BLOCK.search(row))
