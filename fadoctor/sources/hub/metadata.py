"""The metadata.json of a build: which keys it has, for which GPUs, what it wants beside it."""

from __future__ import annotations

import re

import msgspec

from fadoctor.model.files import read_file

METADATA_LIMIT = 1 << 16
"""Bytes of a metadata.json; those of the Hub have a few hundred."""
_ITEMS = 64
_WORD = r"[\w.+-]{1,60}"


class Metadata(msgspec.Struct, frozen=True):
    """What a metadata.json says; nothing where it cannot be read."""

    keys: tuple[str, ...] = ()
    """Sorted; releases of kernels refuse a build that lacks some."""
    version: int | None = None
    """Major version of the kernel: the branch vN."""
    archs: tuple[str, ...] = ()
    """Architectures that the build has code for; () where it names none."""
    needs: tuple[str, ...] = ()
    """What it wants of Python, as kernels calls it."""


def read_metadata(path: str) -> Metadata:
    """Return what a file says."""
    try:
        document = msgspec.json.decode(read_file(path, METADATA_LIMIT) or "")
    except (msgspec.DecodeError, RecursionError):
        return Metadata()
    if not isinstance(document, dict):
        return Metadata()
    backend = document.get("backend")
    version = document.get("version")
    return Metadata(
        keys=tuple(sorted(_words(list(document)))),
        version=version if type(version) is int and 0 <= version < 1000 else None,
        archs=_words(backend.get("archs") if isinstance(backend, dict) else None),
        needs=_words(document.get("python-depends")),
    )


def _words(found: object) -> tuple[str, ...]:
    """Return the plain words of a list."""
    items = found[:_ITEMS] if isinstance(found, list) else []
    return tuple(each for each in items if isinstance(each, str) and re.fullmatch(_WORD, each))
