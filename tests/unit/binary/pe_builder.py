"""Hand-assembled PE files: libraries of Windows with imports and exports, a few kilobytes each."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AMD64, X86, ARM64 = 0x8664, 0x014C, 0xAA64
IMAGE_BASE = 0x180000000
_RVA = 0x2000
_OFFSET = 0x400


class Wanted(NamedTuple):
    """What a file wants of others: library -> names, and numbers, of symbols."""

    at_once: Mapping[str, Sequence[str | int]] = {}
    delayed: Mapping[str, Sequence[str | int]] = {}


_NOTHING = Wanted()


class _Section:
    """Bytes that know their address."""

    def __init__(self, wide: bool) -> None:  # noqa: FBT001 -- there are two kinds
        self.data = bytearray()
        self.wide = wide

    @property
    def here(self) -> int:
        return _RVA + len(self.data)

    def add(self, data: bytes, align: int = 8) -> int:
        """Append and return the address."""
        self.data += bytes(-len(self.data) % align)
        place = self.here
        self.data += data
        return place

    def text(self, name: str) -> int:
        return self.add(name.encode("latin-1") + b"\0", 1)

    def thunks(self, symbols: Sequence[str | int]) -> int:
        values = []
        for symbol in symbols:
            if isinstance(symbol, int):
                values.append(symbol | 1 << (63 if self.wide else 31))
            else:
                values.append(self.add(b"\0\0" + symbol.encode("latin-1") + b"\0", 2))
        layout = f"<{len(values) + 1}{'Q' if self.wide else 'I'}"
        return self.add(struct.pack(layout, *values, 0))


def library(
    wanted: Wanted | Mapping[str, Sequence[str | int]] = _NOTHING,
    exports: Sequence[str] = (),
    *,
    machine: int = AMD64,
    name: str = "made.dll",
    forwards: Mapping[str, str] | None = None,
    linker: tuple[int, int] = (14, 44),
    is_program: bool = False,
) -> bytes:
    """Return a PE file; exports get the numbers from 1 on, in order of their names."""
    wide = machine != X86
    section = _Section(wide)
    asked = wanted if isinstance(wanted, Wanted) else Wanted(wanted)
    directories = [(0, 0)] * 16
    if exports or forwards:
        directories[0] = _exports(section, exports, name, forwards or {})
    if asked.at_once:
        directories[1] = _imports(section, asked.at_once)
    if asked.delayed:
        directories[13] = _delayed(section, asked.delayed)
    return _file(section, directories, machine, linker, is_program=is_program)


def _imports(section: _Section, wanted: Mapping[str, Sequence[str | int]]) -> tuple[int, int]:
    rows = b""
    for dll, symbols in wanted.items():
        thunks = section.thunks(symbols)
        rows += struct.pack("<5I", thunks, 0, 0, section.text(dll), section.thunks(symbols))
    return section.add(rows + bytes(20)), len(rows) + 20


def _delayed(section: _Section, wanted: Mapping[str, Sequence[str | int]]) -> tuple[int, int]:
    rows = b""
    for dll, symbols in wanted.items():
        thunks = section.thunks(symbols)
        rows += struct.pack("<8I", 1, section.text(dll), section.here, thunks, thunks, 0, 0, 0)
    return section.add(rows + bytes(32)), len(rows) + 32


def _exports(
    section: _Section, exports: Sequence[str], name: str, forwards: Mapping[str, str]
) -> tuple[int, int]:
    names = sorted({*exports, *forwards}, key=lambda text: text.encode("latin-1"))
    start = section.add(bytes(40))
    strings = [section.text(each) for each in names]
    functions = [section.text(forwards[e]) if e in forwards else 0x1000 for e in names]
    own = section.text(name)
    count = len(names)
    first = section.add(struct.pack(f"<{count}I", *functions))
    second = section.add(struct.pack(f"<{count}I", *strings))
    third = section.add(struct.pack(f"<{count}H", *range(count)))
    head = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, own, 1, count, count, first, second, third)
    at = start - _RVA
    section.data[at : at + 40] = head
    return start, section.here - start


def _file(
    section: _Section,
    directories: list[tuple[int, int]],
    machine: int,
    linker: tuple[int, int],
    *,
    is_program: bool,
) -> bytes:
    data = bytes(section.data).ljust(-(-len(section.data) // 0x200) * 0x200 or 0x200, b"\0")
    table = b"".join(struct.pack("<II", *pair) for pair in directories)
    if section.wide:
        fixed = struct.pack("<HBB20xQII", 0x20B, *linker, IMAGE_BASE, 0x1000, 0x200)
        middle = struct.pack("<16xIIIHH32xII", 0x10000, _OFFSET, 0, 2, 0, 0, 16)
    else:
        fixed = struct.pack("<HBB24xIII", 0x10B, *linker, 0x400000, 0x1000, 0x200)
        middle = struct.pack("<16xIIIHH16xII", 0x10000, _OFFSET, 0, 2, 0, 0, 16)
    optional = fixed + middle + table
    flags = 0x0022 if is_program else 0x2022
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, 1, 0, 0, 0, len(optional), flags)
    row = struct.pack(
        "<8sIIII12xI", b".rdata", len(section.data) or 1, _RVA, len(data), _OFFSET, 0x40000040
    )
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 0x80)
    return (dos.ljust(0x80, b"\0") + coff + optional + row).ljust(_OFFSET, b"\0") + data
