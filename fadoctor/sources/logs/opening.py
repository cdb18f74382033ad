"""Open what was given as a log: gzip is unpacked, and what is no text is refused in words."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError

if TYPE_CHECKING:
    from fadoctor.sources.logs.reading import Readable

SAMPLE = 4_096
"""Bytes at the beginning that tell what a file is."""

UNPACKED = 4 << 30
"""Most bytes that are taken out of a gzip file."""

_GZIP = b"\x1f\x8b\x08"
_TAR = slice(257, 262)
_KINDS = (
    (b"\x7fELF", "a program, a library or a core dump (ELF)"),
    (b"MZ", "a program or library of Windows"),
    (b"PK\x03\x04", "a zip archive, a wheel or a checkpoint"),
    (b"\x89PNG\r\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"RIFF", "a picture or a recording (RIFF)"),
    (b"%PDF-", "a PDF"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\0", "a database (SQLite)"),
)
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")

# What no terminal prints: not tab, line feed, form feed, carriage return, backspace, bell, escape.
_CONTROLS = re.compile(rb"[\x01-\x06\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_NO_TEXT = 0.05
"""Part of the bytes that are such controls in what is no text; in random bytes a tenth is."""
_FEW = 8
"""So few controls say nothing."""

_ADVICE = "explain reads text: unpack an archive, or give the log itself"


def open_log(stream: Readable, name: str) -> Readable:
    """Return a stream of text; InputError where what was given is none."""
    first = stream.read(SAMPLE)
    if not first.startswith(_GZIP):
        _refuse(first, name)
        return _Rejoined(first, stream)
    unpacked = _Unpacked(_Rejoined(first, stream), name)
    first = unpacked.read(SAMPLE)
    _refuse(first, name)
    return _Rejoined(first, unpacked)


def _refuse(first: bytes, name: str) -> None:
    kind = _kind_of(first)
    if kind:
        raise InputError(name, f"not a log but {kind}; {_ADVICE}")


def _kind_of(first: bytes) -> str:
    """Return what a file is by its beginning, empty for text of any encoding."""
    for mark, kind in _KINDS:
        if first.startswith(mark) and not (mark.isalpha() and _is_plain(first)):
            return kind
    if _BZIP2.match(first):
        return "a bzip2 archive"
    if first[_TAR] == b"ustar":
        return "a tar archive"
    return "" if _is_plain(first) else "a binary file"


def _is_plain(first: bytes) -> bool:
    """Return whether hardly any byte is a control; NULs do not count: broken logs have them."""
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    text = first.replace(b"\0", b"")
    controls = len(_CONTROLS.findall(text))
    return controls < _FEW or controls < _NO_TEXT * len(text)


class _Rejoined:
    """A stream whose beginning has been read already."""

    def __init__(self, first: bytes, rest: Readable) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        if not self._first:
            return self._rest.read(size)
        piece, self._first = self._first[:size], self._first[size:]
        return piece


class _Unpacked:
    """What a gzip file holds; one that was cut off gives what can be read of it."""

    def __init__(self, packed: Readable, name: str) -> None:
        self._stream = gzip.GzipFile(fileobj=packed, mode="rb")  # type: ignore[call-overload]  # it only reads
        self._name = name
        self._size = 0

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        try:
            piece: bytes = self._stream.read1(size)
        except (OSError, EOFError, zlib.error) as error:
            if self._size:
                return b""
            raise InputError(self._name, f"a damaged gzip file: {error}") from error
        self._size += len(piece)
        if self._size > UNPACKED:
            limit = f"{UNPACKED >> 30} GiB"
            raise InputError(self._name, f"unpacked, it is larger than {limit}: give a part of it")
        return piece
