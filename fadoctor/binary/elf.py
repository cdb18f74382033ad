"""The dynamic section of an ELF file, read as the loader reads it: never by section headers.

System V ABI, chapter 5 (dynamic section); 64-bit little-endian, x86-64 and aarch64.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.header import PT_DYNAMIC, PT_INTERP, PT_LOAD, Header, Machine, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.files import Reader

DT_NEEDED, DT_PLTRELSZ, DT_HASH, DT_STRTAB, DT_SYMTAB = 1, 2, 4, 5, 6
DT_RELA, DT_RELASZ, DT_STRSZ, DT_SONAME, DT_RPATH = 7, 8, 10, 14, 15
DT_REL, DT_RELSZ, DT_PLTREL, DT_JMPREL, DT_RUNPATH = 17, 18, 20, 23, 29
DT_FLAGS, DT_AUXILIARY, DT_FILTER = 30, 0x7FFFFFFD, 0x7FFFFFFF
DT_GNU_HASH = 0x6FFFFEF5
DT_VERSYM, DT_RELACOUNT, DT_RELCOUNT, DT_FLAGS_1 = 0x6FFFFFF0, 0x6FFFFFF9, 0x6FFFFFFA, 0x6FFFFFFB
DT_VERDEF, DT_VERNEED = 0x6FFFFFFC, 0x6FFFFFFE

DF_STATIC_TLS = 0x10
DF_1_NOOPEN = 0x40
DF_1_NODEFLIB = 0x800
DF_1_PIE = 0x08000000

_ASKS = frozenset({DT_NEEDED, DT_AUXILIARY, DT_FILTER})
_ENTRY = struct.Struct("<QQ")
_MAX_ENTRIES = 20_000
_MAX_NEEDED = 500
_MAX_TEXT = 64 << 10
"""The longest path list or library name, bytes."""


class Elf:
    """One file: its tables are found here and read by those who need them."""

    def __init__(self, reader: Reader, header: Header) -> None:
        """Read the dynamic section; BadBinaryError where it cannot be."""
        self.reader = reader
        self.machine: Machine = header.machine
        self.type = header.type
        self._loads = [s for s in header.segments if s.type == PT_LOAD]
        self.segments = header.segments
        self.interpreter = self._read_interpreter(header)
        self.tags: dict[int, int] = {}
        asked = []
        for tag, value in self._entries(header):
            self.tags[tag] = value
            if tag in _ASKS:
                asked.append((tag, value))
        if len(asked) > _MAX_NEEDED:
            raise BadBinaryError(f"{len(asked)} libraries in DT_NEEDED and the like are too many")
        self._strings, self._strings_size = self._table(DT_STRTAB), self.tags.get(DT_STRSZ, 0)
        self.asked = tuple((tag, self.string(value)) for tag, value in asked)
        """Tag and name of what it asks for: DT_NEEDED, DT_FILTER, DT_AUXILIARY."""
        self.needed = tuple(name for tag, name in self.asked if tag == DT_NEEDED)
        self.soname = self._string_of(DT_SONAME)
        self.runpath = self._string_of(DT_RUNPATH)
        # gABI: a DT_RPATH is ignored where there is a DT_RUNPATH.
        self.rpath = "" if DT_RUNPATH in self.tags else self._string_of(DT_RPATH)
        self.flags_1 = self.tags.get(DT_FLAGS_1, 0)

    def offset(self, address: int, size: int = 1) -> int:
        """Return where in the file `size` bytes at an address are."""
        for segment in self._loads:
            start = address - segment.address
            if start >= 0 and start + size <= segment.file_size:
                return segment.offset + start
        raise BadBinaryError(f"the address {address:#x} is in no loadable segment")

    def has(self, tag: int) -> bool:
        """Whether there is an entry of that kind."""
        return tag in self.tags

    def table(self, tag: int) -> int:
        """Return where in the file the table of a tag begins."""
        if tag not in self.tags:
            raise BadBinaryError(f"the dynamic section has no entry {tag:#x}")
        return self.offset(self.tags[tag])

    def string_bytes(self, index: int, limit: int = _MAX_TEXT) -> bytes:
        """Return a string of the dynamic string table."""
        if not 0 <= index < self._strings_size:
            raise BadBinaryError(f"the string {index:#x} is outside of its table")
        return self.reader.text(self._strings + index, min(limit, self._strings_size - index))

    def string(self, index: int) -> str:
        """Return a string of the dynamic string table as text."""
        return self.string_bytes(index).decode("utf-8", "surrogateescape")

    def strings(self) -> tuple[int, int]:
        """Return offset and size of the dynamic string table."""
        return self._strings, self._strings_size

    def _table(self, tag: int) -> int:
        return self.table(tag) if tag in self.tags else 0

    def _string_of(self, tag: int) -> str:
        return self.string(self.tags[tag]) if tag in self.tags else ""

    def _read_interpreter(self, header: Header) -> str:
        for segment in header.segments:
            if segment.type == PT_INTERP:
                size = min(segment.file_size, _MAX_TEXT)
                text = self.reader.read(segment.offset, size).partition(b"\0")[0]
                return text.decode("utf-8", "surrogateescape")
        return ""

    def _entries(self, header: Header) -> Iterator[tuple[int, int]]:
        segment = next(s for s in header.segments if s.type == PT_DYNAMIC)
        size = min(segment.file_size, _MAX_ENTRIES * _ENTRY.size) // _ENTRY.size * _ENTRY.size
        # The loader reads it where it is mapped, not where the header says it is in the file.
        start = self.offset(segment.address, size)
        for tag, value in _ENTRY.iter_unpack(self.reader.read(start, size)):
            if tag == 0:
                return
            yield tag, value


def read_elf(reader: Reader) -> Elf:
    """Return an ELF file of any machine that is known; BadBinaryError where it is none."""
    header = read_header(reader)
    if not isinstance(header, Header):
        raise BadBinaryError(header.detail or "made for an unknown machine")
    return Elf(reader, header)
