"""A PE file: its headers, its sections, and bytes by their address.

Microsoft, "PE Format": "MS-DOS Stub", "COFF File Header", "Optional Header", "Section Table". All
fields are little-endian. Addresses here are relative to the image base, as in the file (RVA).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError, TruncatedError

if TYPE_CHECKING:
    from fadoctor.binary.source import BinarySource

MAX_SECTIONS = 1024
MAX_TEXT = 16 << 10
"""The longest name, bytes: a C++ symbol seldom has 4,000."""
_MAX_TOTAL_TEXT = 64 << 20
"""Bytes of all names of one file: names may overlap, and a file may name one place 65,536 times."""
_MAX_TABLE = 4 << 20
_BLOCK = 1 << 16
_MAX_BLOCKS = 128
_MAX_DIRECTORIES = 16

_COFF = struct.Struct("<4sHHIIIHH")  # magic, machine, sections, time, symbols, count, size, flags
_SECTION = struct.Struct("<8sIIII12xI")  # name, virtual size, address, raw size, raw offset, flags
_PE32, _PE32_PLUS = 0x10B, 0x20B
_IS_DLL, _EXECUTABLE = 0x2000, 0x0002
_MACHINES = {0x014C: "x86", 0x8664: "amd64", 0xAA64: "arm64", 0x01C4: "arm"}


class Section(msgspec.Struct, frozen=True):
    """A section."""

    name: str
    address: int
    virtual_size: int
    offset: int
    raw_size: int


class PeHeader(msgspec.Struct, frozen=True):
    """What the headers say."""

    machine: str
    """amd64, arm64, x86, arm; another one by its number: 0x1234."""
    is_64_bit: bool
    is_dll: bool
    linker: str
    """Version of the linker: 14.44 is that of Visual C++ 2022."""
    base: int
    headers_size: int
    sections: tuple[Section, ...]
    directories: tuple[tuple[int, int], ...]
    """Address and size of each data directory; (0, 0) where there is none."""


class PeImage:
    """An open PE file. What is read is bounded, whatever the file says."""

    def __init__(self, source: BinarySource) -> None:
        """Read the headers; BadBinaryError where they are none."""
        self._source = source
        self._blocks: dict[int, bytes] = {}
        self._text_left = _MAX_TOTAL_TEXT
        self.header = read_header(source)
        placed = sorted(self.header.sections, key=lambda section: section.address)
        self._sections = placed
        self._starts = [section.address for section in placed]

    def directory(self, number: int) -> tuple[int, int]:
        """Return address and size of a data directory, (0, 0) where there is none."""
        found = self.header.directories
        address, size = found[number] if number < len(found) else (0, 0)
        return (address, size) if address else (0, 0)

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes at an address; beyond a section's bytes in the file are zeros."""
        if not 0 <= size <= _MAX_TABLE:
            raise BadBinaryError(f"a table of {size} bytes is too large")
        offset, held, mapped = self._place(address)
        if size > mapped:
            raise BadBinaryError(f"{size} bytes at {address:#x} lie outside of their section")
        return self._bytes(offset, min(size, held)).ljust(size, b"\0")

    def text(self, address: int) -> str:
        """Return the text at an address, up to its NUL."""
        offset, held, mapped = self._place(address)
        limit = min(held, MAX_TEXT)
        block, start = self._block(offset // _BLOCK), offset % _BLOCK
        end = block.find(b"\0", start, start + limit)
        data = block[start:end] if end >= 0 else self._bytes(offset, limit).partition(b"\0")[0]
        if end < 0 and len(data) == limit and (limit == MAX_TEXT or mapped == held):
            raise BadBinaryError(f"the text at {address:#x} does not end")
        self._text_left -= len(data) + 1
        if self._text_left < 0:
            raise BadBinaryError(f"more than {_MAX_TOTAL_TEXT >> 20} MiB of names")
        return data.decode("latin-1")

    def room(self, address: int) -> int:
        """Return how many bytes are mapped from an address to the end of its section."""
        return self._place(address)[2]

    def _place(self, address: int) -> tuple[int, int, int]:
        """Return the place in the file, the bytes that are there, and those that are mapped."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0:
            section = self._sections[at]
            start = address - section.address
            mapped = section.virtual_size or section.raw_size
            if start < mapped:
                held = max(0, min(section.raw_size, mapped) - start)
                return section.offset + start, held, mapped - start
        if 0 <= address < self.header.headers_size:
            held = min(self.header.headers_size, self._source.size) - address
            return address, max(held, 0), self.header.headers_size - address
        raise BadBinaryError(f"the address {address:#x} is in no section")

    def _bytes(self, offset: int, size: int) -> bytes:
        number, start = offset // _BLOCK, offset % _BLOCK
        if start + size <= _BLOCK:
            data = self._block(number)[start : start + size]
        else:
            data = self._source.read(offset, min(size, self._source.size - offset))
        if len(data) < size:
            raise TruncatedError(f"truncated: nothing at {offset + len(data):#x}")
        return data

    def _block(self, number: int) -> bytes:
        block = self._blocks.get(number)
        if block is None:
            start = number * _BLOCK
            if start >= self._source.size:
                return b""
            block = self._source.read(start, min(_BLOCK, self._source.size - start))
            if len(self._blocks) >= _MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[number] = block
        return block


def read_header(source: BinarySource) -> PeHeader:
    """Return what the headers of a PE file say; BadBinaryError where it is none."""
    if source.size < 64 or source.read(0, 2) != b"MZ":
        raise BadBinaryError("not a PE file")
    (start,) = struct.unpack("<I", source.read(60, 4))
    if start + _COFF.size > source.size:
        raise TruncatedError("truncated: its PE header is not there")
    fields = _COFF.unpack(source.read(start, _COFF.size))
    magic, machine, count, *_, optional_size, flags = fields
    if magic != b"PE\0\0":
        raise BadBinaryError("a DOS program, not a PE file")
    if not flags & _EXECUTABLE:
        raise BadBinaryError("an object file, which cannot be loaded")
    if count > MAX_SECTIONS:
        raise BadBinaryError("PE with too many sections")
    place = start + _COFF.size
    optional = source.read(place, min(optional_size, 4096))
    sections = _sections(source, place + optional_size, count)
    return _with_optional(optional, _MACHINES.get(machine, f"{machine:#x}"), flags, sections)


def _with_optional(
    optional: bytes, machine: str, flags: int, sections: tuple[Section, ...]
) -> PeHeader:
    """Return the header; offsets in the optional header: linker 2, base 24 or 28, headers 60."""
    kind = int.from_bytes(optional[:2], "little")
    wide = kind == _PE32_PLUS
    table = 112 if wide else 96
    if kind not in {_PE32, _PE32_PLUS} or len(optional) < table:
        raise BadBinaryError("PE without a known optional header")
    base = struct.unpack_from("<Q" if wide else "<I", optional, 24 if wide else 28)[0]
    (headers_size,) = struct.unpack_from("<I", optional, 60)
    (count,) = struct.unpack_from("<I", optional, table - 4)
    count = min(count, _MAX_DIRECTORIES, (len(optional) - table) // 8)
    pairs = tuple(struct.iter_unpack("<II", optional[table : table + 8 * count]))
    return PeHeader(
        machine=machine,
        is_64_bit=wide,
        is_dll=bool(flags & _IS_DLL),
        linker=f"{optional[2]}.{optional[3]:02}",
        base=base,
        headers_size=headers_size,
        sections=sections,
        directories=pairs,
    )


def _sections(source: BinarySource, place: int, count: int) -> tuple[Section, ...]:
    if place + count * _SECTION.size > source.size:
        raise TruncatedError("truncated: its section table is not there")
    found = []
    for name, size, address, raw, offset, _ in _SECTION.iter_unpack(
        source.read(place, count * _SECTION.size)
    ):
        # A section without bytes in the file may name any place.
        if raw and offset + min(raw, size or raw) > source.size:
            end = offset + min(raw, size or raw)
            raise TruncatedError(f"truncated: it should have {end} bytes and has {source.size}")
        text = name.rstrip(b"\0").decode("latin-1")
        found.append(Section(text, address, size, offset, raw if offset else 0))
    return tuple(found)
