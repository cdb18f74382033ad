"""JSON that is kept compressed until somebody asks for what it says.

A command reads a tenth of what is compiled. As text that is a fourth as large, and as objects a
fifteenth.
"""

from __future__ import annotations

import zlib
from typing import TypeVar

import msgspec

from fadoctor.model.typed import decode

_T = TypeVar("_T")

LIMIT = 64 << 20
"""Most bytes that are unpacked: newer rules are fetched, and little can be made of much."""


def pack(value: object) -> bytes:
    """Return a value as compressed JSON."""
    return zlib.compress(msgspec.json.encode(value), 9)


def unpack(packed: bytes, kind: type[_T]) -> _T:
    """Return what was packed; msgspec.DecodeError where it is damaged, too large or no `kind`."""
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(packed, LIMIT)
    except zlib.error as error:
        raise msgspec.DecodeError(str(error)) from error
    if not reader.eof:
        raise msgspec.DecodeError("cut off, or too large")
    return decode(data, kind)
