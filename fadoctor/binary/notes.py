"""What the notes of a file say of the processor that it needs.

x86-64 psABI, "Program Property"; a note: u32 bytes of the name, u32 bytes of what follows, u32
type, the name; a property: u32 type, u32 bytes, the value; each padded to the alignment of the
segment.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from fadoctor.binary.header import PT_GNU_PROPERTY, PT_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.elf import Elf

_NOTE = struct.Struct("<III")
_PROPERTY = struct.Struct("<II")
_GNU, _PROPERTIES = b"GNU\0", 5
_ISA_NEEDED = 0xC0008002
"""GNU_PROPERTY_X86_ISA_1_NEEDED"""
_MAX_NOTES = 64 << 10
"""Bytes of one segment of notes that are read."""
_MAX_SEGMENTS = 16
"""Real files have one or two; a file could name thousands that are all the same bytes."""
_ALIGNMENT = 8
"""Notes of another alignment have no properties that a 64-bit loader reads."""


def needed_isa(elf: Elf) -> int:
    """Return the bits of x86-64 levels that a file needs, 0 where it does not tell.

    BadBinaryError where a segment of notes lies outside of the file.
    """
    properties = [s for s in elf.segments if s.type == PT_GNU_PROPERTY]
    # As the loader: other notes are only looked at where none holds properties alone.
    chosen = properties or [s for s in elf.segments if s.type == PT_NOTE]
    for segment in chosen[:_MAX_SEGMENTS]:
        if segment.alignment == _ALIGNMENT:
            size = min(segment.file_size, _MAX_NOTES)
            for data in _properties(elf.reader.read(segment.offset, size)):
                return _find_isa(data)
    return 0


def _properties(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + _NOTE.size <= len(data):
        name_size, size, kind = _NOTE.unpack_from(data, at)
        start = at + _padded(_NOTE.size + name_size)
        name = data[at + _NOTE.size : at + _NOTE.size + name_size]
        if name == _GNU and kind == _PROPERTIES and start + size <= len(data):
            yield data[start : start + size]
        at = start + _padded(size)


def _find_isa(data: bytes) -> int:
    at = 0
    while at + _PROPERTY.size <= len(data):
        kind, size = _PROPERTY.unpack_from(data, at)
        value = data[at + _PROPERTY.size : at + _PROPERTY.size + size]
        if kind == _ISA_NEEDED and len(value) == size == 4:
            return int.from_bytes(value, "little")
        at += _padded(_PROPERTY.size + size)
    return 0


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
