"""``/etc/ld.so.cache``: which files the system has for a soname.

The format that glibc 2.2 and newer write: the text ``glibc-ld.so.cache1.1``, u32 entries, u32 bytes
of strings, u8 flags, 3 bytes, u32 extensions, 12 bytes, then per entry i32 flags, u32 name, u32
path, u32, u64 hwcap; names, paths and extensions are offsets from the text. An older table may
stand before it. Extensions: u32 magic, u32 sections, then per section u32 tag, u32 flags, u32
offset, u32 size; tag 1 holds u32 offsets of the names of glibc-hwcaps folders.

hwcap: 0 for every processor; bit 62: bits 0-31 number such a name, bits 32-41 the x86-64 level
less one; others: bits of the older folders.
"""

from __future__ import annotations

import struct

import msgspec

from fadoctor.binary.header import Machine

LD_CACHE = "/etc/ld.so.cache"
LD_CACHE_LIMIT = 16 << 20

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sIIII12x")
_ENTRY = struct.Struct("<iIIIQ")
_EXTENSION_MAGIC = 0xEAA42174
_SECTION = struct.Struct("<IIII")
_NAMES = 1
_MAX_SECTIONS, _MAX_NAMES = 64, 256
_MAX_ENTRIES = 64
"""Entries of one name that are kept."""
_KIND = {Machine.X86_64: 0x0303, Machine.AARCH64: 0x0A03}
"""The flags of a library for glibc: 3, and the machine in the second byte."""
_NAMED, _LEVEL = 1 << 30, 0x3FF
"""Of the upper half of hwcap."""


class Cached(msgspec.Struct, frozen=True):
    """One file for a soname."""

    path: str
    named: str = ""
    """The folder of glibc-hwcaps that it is for: ``x86-64-v3``."""
    level: int = 0
    """The x86-64 level that it needs."""
    old: bool = False
    """It is for the processors of an older folder, which its path tells."""


class LdCache:
    """The entries for one machine; their paths are read when they are asked for."""

    def __init__(self, data: bytes, machine: Machine) -> None:
        self._data, self._start = data, data.find(_MAGIC)
        self._places: dict[bytes, list[tuple[int, int]]] = {}
        self._names: list[str] = []
        if self._start >= 0 and self._start + _HEADER.size <= len(data):
            self._read(_KIND[machine])

    def _read(self, kind: int) -> None:
        data, start, places = self._data, self._start, self._places
        _, count, _, _, extensions = _HEADER.unpack_from(data, start)
        first = start + _HEADER.size
        end = min(first + count * _ENTRY.size, len(data))
        table = data[first : end - (end - first) % _ENTRY.size]
        for flags, name, path, _, hwcap in _ENTRY.iter_unpack(table):
            if flags == kind:
                places.setdefault(_text(data, start + name), []).append((path, hwcap))
        self._names = _names(data, start, extensions)

    @property
    def sonames(self) -> list[str]:
        """What it has files for."""
        return [name.decode("utf-8", "surrogateescape") for name in self._places]

    def find(self, soname: str) -> tuple[Cached, ...]:
        """Return the files for a name in the cache's order, without those that are damaged."""
        places = self._places.get(soname.encode("utf-8", "surrogateescape"), [])[:_MAX_ENTRIES]
        entries = (self._entry(path, hwcap) for path, hwcap in places)
        return tuple(entry for entry in entries if entry is not None)

    def _entry(self, path_at: int, hwcap: int) -> Cached | None:
        path = _text(self._data, self._start + path_at).decode("utf-8", "surrogateescape")
        upper, number = hwcap >> 32, hwcap & 0xFFFFFFFF
        if not hwcap:
            return Cached(path)
        if upper & ~_LEVEL != _NAMED:
            return Cached(path, old=True)
        if number >= len(self._names):
            return None
        return Cached(path, named=self._names[number], level=(upper & _LEVEL) + 1)


def _names(data: bytes, start: int, extensions: int) -> list[str]:
    """Return the names of glibc-hwcaps folders that entries number."""
    at = start + extensions
    if not extensions or at + 8 > len(data):
        return []
    magic, count = struct.unpack_from("<II", data, at)
    if magic != _EXTENSION_MAGIC:
        return []
    for number in range(min(count, _MAX_SECTIONS)):
        place = at + 8 + number * _SECTION.size
        if place + _SECTION.size > len(data):
            break
        tag, _, offset, size = _SECTION.unpack_from(data, place)
        if tag == _NAMES:
            words = min(size // 4, _MAX_NAMES, max(0, len(data) - start - offset) // 4)
            offsets = struct.unpack_from(f"<{words}I", data, start + offset) if words else ()
            return [_text(data, start + one).decode("ascii", "replace") for one in offsets]
    return []


def _text(data: bytes, start: int) -> bytes:
    end = data.find(b"\0", start, start + 4096)
    return data[start : max(end, start)]
