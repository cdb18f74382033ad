"""``/etc/ld.so.cache``: which file the system has for a soname.

The format that glibc 2.2 and newer write: the text ``glibc-ld.so.cache1.1``, u32 entries, u32 bytes
of strings, 20 bytes, then per entry i32 flags, u32 name, u32 path, u32, u64 hwcap; names and paths
are offsets from the text. An older table may stand before it.
"""

from __future__ import annotations

import struct

from fadoctor.binary.header import Machine

LD_CACHE = "/etc/ld.so.cache"
LD_CACHE_LIMIT = 16 << 20

_MAGIC = b"glibc-ld.so.cache1.1"
_COUNT = struct.Struct("<20sI")
_ENTRIES = 48
_ENTRY = struct.Struct("<iIIIQ")
_KIND = {Machine.X86_64: 0x0303, Machine.AARCH64: 0x0A03}
"""The flags of a library for glibc: 3, and the machine in the second byte."""


def read_ld_cache(data: bytes, machine: Machine) -> dict[str, str]:
    """Return soname -> path; what is damaged is left out, as the loader does not insist either.

    Entries for certain processors only are left out: they stand for the same library.
    """
    start = data.find(_MAGIC)
    if start < 0 or start + _ENTRIES > len(data):
        return {}
    _, count = _COUNT.unpack_from(data, start)
    end = min(start + _ENTRIES + count * _ENTRY.size, len(data))
    table = data[start + _ENTRIES : end - (end - start - _ENTRIES) % _ENTRY.size]
    found: dict[str, str] = {}
    for flags, name, path, _, hwcap in _ENTRY.iter_unpack(table):
        if flags == _KIND[machine] and not hwcap:
            found.setdefault(_text(data, start + name), _text(data, start + path))
    return found


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start, start + 4096)
    return data[start : max(end, start)].decode("utf-8", "surrogateescape")
