"""Hand-assembled fatbins, and libraries around them: ELF and PE, a few kilobytes each."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PTX, CUBIN, LTO = 1, 2, 8
LINUX_64 = 0x11
LZ4, ZSTD = 0x2000, 0x8000
SPECIFIC, FAMILY = 0x100000, 0x200000
PLAIN_CUBIN = b"\x7fELF\x02\x01\x01A".ljust(16, b"\0") + b"\x02\0" + bytes(46)
RELOCATABLE_CUBIN = PLAIN_CUBIN[:16] + b"\x01\0" + PLAIN_CUBIN[18:]
RELOCATABLE_PTX = "--compile-only"
IMAGE_BASE = 0x180000000


def image(
    kind: int = CUBIN,
    architecture: int = 80,
    *,
    flags: int = LINUX_64,
    version: tuple[int, int] = (1, 7),
    payload: bytes = bytes(32),
    header: int = 64,
    compressed: int = 0,
    options: str = "",
) -> bytes:
    """Return one image; `options` stand behind the usual 64 bytes and lengthen the header."""
    extra = b""
    if options:
        text = options.encode().ljust(-(-len(options) // 8) * 8)
        extra = struct.pack("<II", 72, len(text)) + text
        header = max(header, 64 + len(extra))
    head = struct.pack(
        "<HHIQIIHHIIIQQQ",
        kind, 0x0101, header, len(payload), compressed, 64 if options else 0, version[1],
        version[0], architecture, 0, 0, flags, 0, len(payload) * 3 if compressed else 0,
    )  # fmt: skip
    return (head + extra).ljust(header, b"\0") + payload


def ptx(architecture: int = 90, isa: tuple[int, int] = (8, 4), **more: object) -> bytes:
    """Return a PTX image."""
    return image(PTX, architecture, version=isa, **more)  # type: ignore[arg-type] # as of image


def container(*images: bytes, size: int | None = None, magic: int = 0xBA55ED50) -> bytes:
    """Return a container; `size` overrides what its header says of the images."""
    body = b"".join(images)
    return struct.pack("<IHHQ", magic, 1, 16, len(body) if size is None else size) + body


def elf(
    *parts: bytes,
    wrappers: Sequence[tuple[int, int]] = (),
    relocated: int = 0,
    tail: bytes = b"",
) -> bytes:
    """Return a library without section headers.

    `parts` lie in read-only data, 8-aligned. Each wrapper is a version and the index of the part
    that it points to. With `relocated`, the type of a relocation, the pointer
    is empty and a relocation tells it.
    """
    places, data = _place(parts, 0x200)
    rodata = len(data)
    rw_at = -(-rodata // 0x1000) * 0x1000
    shift = 0x1000
    body = b"".join(
        struct.pack(
            "<IIQQ", 0x466243B1, version, 0 if relocated else places[part], 0x77 * (version == 2)
        )
        for version, part in wrappers
    )
    rw_address = rw_at + shift
    rela = b"".join(
        struct.pack("<QQq", rw_address + 24 * at + 8, relocated, places[part])
        for at, (_, part) in enumerate(wrappers)
        if relocated
    )
    rela_address = rw_address + len(body)
    dynamic = struct.pack("<6Q", 7, rela_address, 8, len(rela), 0, 0) if relocated else b""
    rw = body + rela + dynamic + tail
    rows = [
        (1, 4, 0, 0, rodata, 0x1000),
        (1, 6, rw_at, rw_address, len(rw), 0x1000),
        *([(2, 6, rw_at + len(body + rela), 0, len(dynamic), 8)] if relocated else []),
    ]
    table = b"".join(
        struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, size, size, align)
        for kind, flags, offset, address, size, align in rows
    )
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(rows), 64, 0, 0,
    )  # fmt: skip
    return (head + table).ljust(0x200, b"\0") + data[0x200:].ljust(rw_at - 0x200, b"\0") + rw


def _place(parts: Sequence[bytes], start: int) -> tuple[list[int], bytes]:
    """Return where each part lies, and all of them behind `start` bytes."""
    places, data = [], bytes(start)
    for part in parts:
        data += bytes(-len(data) % 8)
        places.append(len(data))
        data += part
    return places, data


def pe(*parts: bytes, wrappers: Sequence[tuple[int, int]] = ()) -> bytes:
    """Return a DLL with one section for the parts and one for the wrappers."""
    places, data = _place(parts, 0)
    data = data.ljust(-(-len(data) // 0x200) * 0x200, b"\0")
    first, second = 0x400, 0x400 + len(data)
    rva = 0x5000
    body = b"".join(
        struct.pack("<IIQQ", 0x466243B1, version, IMAGE_BASE + rva + places[part], 0)
        for version, part in wrappers
    ).ljust(0x200, b"\0")
    sections = [
        (b".nv_fatb", len(data), rva, len(data), first),
        (b".nvFatBi", 24 * len(wrappers), 0x90000, len(body), second),
    ]
    table = b"".join(struct.pack("<8sIIII16x", *section) for section in sections)
    optional = struct.pack("<H22xQ", 0x20B, IMAGE_BASE).ljust(0xF0, b"\0")
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", 0x80)
    coff = struct.pack("<4sHH12xHH", b"PE\0\0", 0x8664, len(sections), len(optional), 0x2022)
    return (head.ljust(0x80, b"\0") + coff + optional + table).ljust(0x400, b"\0") + data + body
