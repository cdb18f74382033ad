"""What files of released packages do at import, brought along: a first run parses none of them.

One file for each distribution: a line of JSON (`form`, `releases`, `layers`), then the layers, each
an xz stream of lines ``<digest> <JSON>``. A digest is that of the whole text of a source, so an
edited file is in none of them. What cannot be read, or has another form, is not there. A release
without a table takes the one nearest to it: most of its files are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Dict, Iterator, List, Tuple

from fadoctor.sources.import_names.child._fadoctor_thin import VERSION
from fadoctor.sources.import_names.child._fadoctor_version import parse

DIGEST = 24
"""Hexadecimal digits of a digest: nobody makes a second file for 96 bits of SHA-256."""

_UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, MemoryError, RecursionError,
)  # fmt: skip

HEAD_LIMIT = 64 << 10
LAYER_LIMIT = 24 << 20
"""Bytes of a layer, unpacked."""


def digest_of(text: bytes) -> str:
    """Return what names a text."""
    return hashlib.sha256(text).hexdigest()[:DIGEST]


def listing_of(prefix: str, files: "List[Tuple[str, int]]") -> str:
    """Return what names an import structure: its modules, and the sizes of their files."""
    lines = [prefix, *[f"{name} {size}" for name, size in sorted(files)]]
    return digest_of("\n".join(lines).encode("utf-8", "replace"))


class Shipped:
    """The tables of the releases that are installed; each is opened when it is first asked."""

    def __init__(self, folder: str, installed: Dict[str, str]) -> None:
        self.folder = folder
        """Of the tables; empty where none is used."""
        self.installed = installed
        self._known: Dict[str, Tuple[str, Dict[str, bytes]]] = {}

    def has(self, distribution: str) -> bool:
        """Return whether there is a table of the distribution, of whatever release."""
        return bool(self._of(distribution)[1])

    def is_exact(self, distribution: str) -> bool:
        """Return whether the table is that of the release that is installed."""
        return self._of(distribution)[0] == self._version(distribution) != ""

    def find(self, distribution: str, digest: str) -> Any:
        """Return what is known under a digest; None where nothing is."""
        line = self._of(distribution)[1].get(digest)
        return None if line is None else json.loads(line.decode("utf-8"))

    def _version(self, distribution: str) -> str:
        return self.installed.get(distribution, "").partition("+")[0]

    def _of(self, distribution: str) -> Tuple[str, Dict[str, bytes]]:
        found = self._known.get(distribution)
        if found is None:
            version = self._version(distribution)
            path = os.path.join(self.folder, distribution + ".names")
            is_asked = bool(self.folder and version)
            near = nearest(releases_of(path), version) if is_asked else ""
            found = self._known[distribution] = (near, dict(read_lines(path, near)) if near else {})
        return found


def releases_of(path: str) -> List[str]:
    """Return the releases that a table holds; none where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return [str(name) for name in _head(file.readline(HEAD_LIMIT))["releases"]]
    except _UNREADABLE:
        return []


def nearest(releases: List[str], version: str) -> str:
    """Return the release itself, the next newer one, or the newest; empty where none is known."""
    if version in releases:
        return version
    wanted = parse(version)
    known = sorted(
        (found.key, name) for name in releases for found in [parse(name)] if found is not None
    )
    if wanted is None or not known:
        return ""
    return next((name for key, name in known if key >= wanted.key), known[-1][1])


def read_lines(path: str, version: str) -> "Iterator[Tuple[str, bytes]]":
    """Yield digest and JSON of what is known of a release; nothing where that cannot be read."""
    try:
        from lzma import LZMADecompressor, LZMAError
    except ImportError:  # a Python that was built without it
        return
    try:
        with open(path, "rb") as file:
            head = _head(file.readline(HEAD_LIMIT))
            start = file.tell()
            for number in head["releases"].get(version, ()):
                at, size = head["layers"][number]
                file.seek(start + at)
                stream = LZMADecompressor()
                text = stream.decompress(file.read(size), LAYER_LIMIT)
                if not stream.eof:
                    return  # cut off, or larger than any
                for line in text.split(b"\n"):
                    yield line[:DIGEST].decode("ascii"), line[DIGEST + 1 :]
    except (*_UNREADABLE, LZMAError):
        return


def _head(line: bytes) -> "Dict[str, Any]":
    found: Dict[str, Any] = json.loads(line)
    return found if found["form"] == VERSION else {"releases": {}}
