"""Which fatbin containers a library hands to the CUDA runtime when it is loaded.

A constructor of the library passes a wrapper of 24 bytes, 8-aligned: u32 magic,
u32 version, u64 pointer to a container, u64 pointer. Version 2 marks the container that the device
linker made; its second pointer is filled in at run time. NVIDIA's fatbinary_section.h names the
section .nvFatBinSegment; in ELF the magic finds them in writable data, section or not.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.source import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.segments import Layout
    from fadoctor.binary.source import BinarySource

MAX_WRAPPERS = 1 << 16
MAX_MAGICS = 1 << 18
"""Most places with the magic, wrappers or not, that are looked at."""
_LARGEST_TABLE = 1 << 28
LINKED = 2
_WRAPPER = struct.Struct("<4sIQQ")
_DYNAMIC = struct.Struct("<QQ")
_DYNAMIC_LIMIT = 1 << 16
_DT_RELA, _DT_RELASZ = 7, 8
_RELA = struct.Struct("<QQq")  # offset, info, addend
_RELATIVE = (8, 1027)  # R_X86_64_RELATIVE, R_AARCH64_RELATIVE


class Kind(msgspec.Struct, frozen=True):
    """Whose runtime a wrapper speaks to."""

    magic: bytes
    versions: tuple[int, ...]


CUDA = Kind(b"\xb1\x43\x62\x46", (1, LINKED))
HIP = Kind(b"FPIH", (1,))
"""clang writes the same wrapper for AMD's, in the section .hipFatBinSegment."""


class Wrappers(msgspec.Struct, frozen=True):
    """What the wrappers of a file say."""

    containers: dict[int, int]
    """Place of a container in the file -> version of its wrapper, 2 where one of them is 2."""
    unresolved: int
    """Wrappers whose container could not be placed."""


def read_wrappers(source: BinarySource, layout: Layout, kind: Kind = CUDA) -> Wrappers:
    """Find the wrappers and the containers that they name."""
    found: dict[int, int] = {}
    empty: dict[int, int] = {}
    unresolved = 0
    for count, (place, version, pointer) in enumerate(_wrappers(source, layout, kind)):
        if count >= MAX_WRAPPERS:
            raise BadBinaryError(f"more than {MAX_WRAPPERS} fatbin wrappers")
        if not pointer:
            empty[place + 8] = version
            continue
        offset = layout.offset_of(pointer - layout.base)
        if offset < 0:
            unresolved += 1
        else:
            found[offset] = max(version, found.get(offset, 0))
    if empty:
        resolved = _relocated(source, layout, empty)
        unresolved += len(empty) - len(resolved)
        for offset, version in resolved:
            found[offset] = max(version, found.get(offset, 0))
    return Wrappers(found, unresolved)


def _wrappers(source: BinarySource, layout: Layout, kind: Kind) -> Iterator[tuple[int, int, int]]:
    """Yield place, version and pointer of each wrapper."""
    count = 0
    for start, end in layout.ranges(wrappers=True):
        for place in source.find_all(kind.magic, start, end - _WRAPPER.size + len(kind.magic)):
            count += 1
            if count > MAX_MAGICS:
                raise BadBinaryError(
                    f"more than {MAX_MAGICS} places that look like fatbin wrappers"
                )
            _, version, pointer, _ = _WRAPPER.unpack(source.read(place, _WRAPPER.size))
            if version in kind.versions and place % 8 == 0:
                yield place, version, pointer


def _relocated(
    source: BinarySource, layout: Layout, empty: dict[int, int]
) -> list[tuple[int, int]]:
    """Return container and version of wrappers whose pointer only a relocation tells.

    Some linkers leave the place itself empty, since the loader writes it anyway.
    """
    start, size = _relocation_table(source, layout)
    wanted = _addresses(layout, empty)
    found = []
    entries = WINDOW // _RELA.size * _RELA.size
    for offset in range(start, start + size, entries):
        piece = source.read(offset, min(entries, start + size - offset))
        for address, info, addend in _RELA.iter_unpack(piece):
            if address in wanted and info in _RELATIVE:
                place = layout.offset_of(addend)
                if place >= 0:
                    found.append((place, wanted.pop(address)))
    return found


def _addresses(layout: Layout, places: dict[int, int]) -> dict[int, int]:
    """Return address -> version for place -> version."""
    return {
        segment.address + place - segment.offset: version
        for segment in layout.segments
        if segment.has_wrappers
        for place, version in places.items()
        if segment.offset <= place < segment.offset + segment.size
    }


def _relocation_table(source: BinarySource, layout: Layout) -> tuple[int, int]:
    """Return place and size of DT_RELA, (0, 0) where there is none."""
    offset, size = layout.dynamic
    size = min(size, _DYNAMIC_LIMIT) // _DYNAMIC.size * _DYNAMIC.size
    tags = dict(_DYNAMIC.iter_unpack(source.read(offset, size)))
    place = layout.offset_of(tags.get(_DT_RELA, -1))
    if place < 0:
        return 0, 0
    size = min(tags.get(_DT_RELASZ, 0), source.size - place, _LARGEST_TABLE)
    return place, size // _RELA.size * _RELA.size
