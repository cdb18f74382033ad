"""The build id of a file: what its linker wrote to tell this build from every other.

A note of the name GNU and the type 3. Where there is none, a digest of the size, the start and
the end of the file stands for it.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.header import PT_NOTE, Header, read_header

if TYPE_CHECKING:
    from fadoctor.binary.files import Reader

_NOTE = struct.Struct("<III")
_GNU, _BUILD_ID = b"GNU\0", 3
_MAX_NOTES = 4 << 10
_MAX_SEGMENTS = 16
_SHOWN = 10
_EDGE = 4 << 10
"""Bytes of either end of a file that stand for all of it."""


def build_id(reader: Reader) -> str:
    """Return ten digits of the build id, or ``~`` and a digest; BadBinaryError, OSError."""
    header = read_header(reader)
    if isinstance(header, Header):
        segments = [each for each in header.segments if each.type == PT_NOTE]
        for segment in segments[:_MAX_SEGMENTS]:
            size = min(segment.file_size, _MAX_NOTES)
            try:
                found = _find(reader.read(segment.offset, size), max(segment.alignment, 4))
            except BadBinaryError:
                continue
            if found:
                return found.hex()[:_SHOWN]
    start = reader.read_up_to(0, _EDGE)
    end = reader.read_up_to(max(0, reader.size - _EDGE), _EDGE)
    return "~" + hashlib.blake2b(b"%d " % reader.size + start + end, digest_size=4).hexdigest()


def _find(data: bytes, alignment: int) -> bytes:
    at = 0
    while at + _NOTE.size <= len(data):
        name_size, size, kind = _NOTE.unpack_from(data, at)
        name = data[at + _NOTE.size : at + _NOTE.size + name_size]
        start = at + _padded(_NOTE.size + name_size, alignment)
        if name == _GNU and kind == _BUILD_ID and start + size <= len(data):
            return data[start : start + size]
        at = start + _padded(size, alignment)
    return b""


def _padded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
