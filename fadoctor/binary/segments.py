"""Where the parts of a library lie in its file: ELF program headers, PE sections.

Section headers of ELF are never read: a stripped file has none, and the loader ignores them. ELF:
System V gABI, chapters 4 and 5. PE: Microsoft's PE format, "Section Table". Little-endian, 64-bit.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from fadoctor.binary.source import BinarySource

MAX_SEGMENTS = 1024
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")  # type flags offset vaddr paddr filesz memsz align
_SECTION = struct.Struct("<8sIIII16x")  # name, virtual size, address, raw size, raw offset
_LOAD, _DYNAMIC = 1, 2
_WRITE = 2
_PE_WRAPPERS = (b".nvFatBi", b".hipFatB")  # .nvFatBinSegment, in the eight bytes of a name


class Segment(msgspec.Struct, frozen=True, order=True):
    """A part of the file that the loader maps; in order, by address."""

    address: int
    offset: int
    size: int
    """Bytes in the file."""
    has_wrappers: bool
    """What registers GPU code may lie here: writable data of ELF, one section of PE."""


class Layout(msgspec.Struct, frozen=True):
    """How addresses of a library become places in its file."""

    format: str
    """elf or pe."""
    base: int
    """What pointers in the file are above addresses: the image base of PE, 0 of ELF."""
    segments: tuple[Segment, ...]
    """By address."""
    dynamic: tuple[int, int]
    """Offset and size of the dynamic section of ELF, (0, 0) where there is none."""

    def offset_of(self, address: int) -> int:
        """Return the place of an address in the file, -1 where it has none."""
        at = bisect_right(self.segments, address, key=lambda segment: segment.address) - 1
        if at < 0 or address >= self.segments[at].address + self.segments[at].size:
            return -1
        return self.segments[at].offset + address - self.segments[at].address

    def ranges(self, *, wrappers: bool = False) -> list[tuple[int, int]]:
        """Return the parts of the file that are mapped (that may have wrappers), ascending.

        Each byte stands in one part only, however often the file maps it.
        """
        found: list[tuple[int, int]] = []
        chosen = (s for s in self.segments if s.size and (s.has_wrappers or not wrappers))
        for start, end in sorted((s.offset, s.offset + s.size) for s in chosen):
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found


def read_layout(source: BinarySource) -> Layout:
    """Read the layout of an ELF or PE file; a part that ends after the file is an error."""
    if not source.size:
        raise BadBinaryError("empty")
    magic = source.read(0, min(4, source.size))
    if magic == b"\x7fELF":
        layout = _read_elf(source)
    elif magic[:2] == b"MZ":
        layout = _read_pe(source)
    else:
        raise BadBinaryError("neither ELF nor PE")
    end = max((s.offset + s.size for s in layout.segments if s.size), default=0)
    if end > source.size:
        raise BadBinaryError(f"truncated: it should have {end} bytes and has {source.size}")
    return layout


def _read_elf(source: BinarySource) -> Layout:
    """e_ident[4] class, [5] byte order; e_phoff at 32 (u64), e_phentsize, e_phnum at 54 (u16)."""
    header = source.read(0, 64)
    if header[4] != 2 or header[5] != 1:
        raise BadBinaryError("ELF, but not 64-bit little-endian")
    (table,) = struct.unpack_from("<Q", header, 32)
    entry_size, count = struct.unpack_from("<HH", header, 54)
    if entry_size != _PROGRAM_HEADER.size or not 0 < count <= MAX_SEGMENTS:
        raise BadBinaryError("ELF without usable program headers")
    rows = _PROGRAM_HEADER.iter_unpack(source.read(table, count * entry_size))
    segments, dynamic = [], (0, 0)
    for kind, flags, offset, address, _, size, *_ in rows:
        if kind == _LOAD:
            segments.append(Segment(address, offset, size, bool(flags & _WRITE)))
        elif kind == _DYNAMIC:
            dynamic = (offset, size)
    return Layout("elf", 0, tuple(sorted(segments)), dynamic)


def _read_pe(source: BinarySource) -> Layout:
    """e_lfanew at 60 (u32); behind "PE": count of sections (u16 at 6), optional header (u16 at 20).

    In the optional header of PE32+ the image base is the u64 at 24.
    """
    (start,) = struct.unpack("<I", source.read(60, 4))
    header = source.read(start, 24 + 32)
    if header[:4] != b"PE\0\0" or header[24:26] != b"\x0b\x02":
        raise BadBinaryError("MZ, but not 64-bit PE")
    count, optional = struct.unpack_from("<6xH12xH", header)
    if count > MAX_SEGMENTS:
        raise BadBinaryError("PE with too many sections")
    (base,) = struct.unpack_from("<Q", header, 48)
    table = source.read(start + 24 + optional, count * 40)
    segments = [
        Segment(address, offset, min(raw, size or raw), name in _PE_WRAPPERS)
        for name, size, address, raw, offset in _SECTION.iter_unpack(table)
    ]
    return Layout("pe", base, tuple(sorted(segments)), (0, 0))
