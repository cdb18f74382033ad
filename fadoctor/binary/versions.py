"""Symbol versions: what a file needs from others, and what it defines.

Linux Standard Base, chapter "Symbol versioning". Verneed: u16 version, u16 count, u32 file,
u32 aux, u32 next; Vernaux: u32 hash, u16 flags, u16 other, u32 name, u32 next; Verdef: u16 version,
u16 flags, u16 index, u16 count, u32 hash, u32 aux, u32 next; Verdaux: u32 name, u32 next.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.elf import DT_VERDEF, DT_VERNEED
from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.elf import Elf

_NEED = struct.Struct("<HHIII")
_NEED_AUX = struct.Struct("<IHHII")
_DEFINITION = struct.Struct("<HHHHIII")
_NAME = struct.Struct("<I")
_BASE, _WEAK, _HIDDEN = 0x1, 0x2, 0x8000
_INDEX = 0x7FFF
_MAX_NODES = 16_384
"""Entries of one table. Each costs the file a few bytes only, and links may form a ring."""


class NeededVersion(msgspec.Struct, frozen=True):
    """A version that a file wants from another."""

    file: str
    """The soname of the library that must have it."""
    name: str
    weak: bool
    hidden: bool
    index: int


def needed_versions(elf: Elf) -> list[NeededVersion]:
    """Return what a file needs, in the order in which the loader checks it."""
    if not elf.has(DT_VERNEED):
        return []
    found: list[NeededVersion] = []
    for at in _chain(elf, elf.tags[DT_VERNEED], _NEED):
        _, count, file_name, first, _ = _unpack(elf, at, _NEED)
        if not count:
            continue
        file = elf.string(file_name)
        for aux in _chain(elf, at + first, _NEED_AUX):
            _, flags, other, name, _ = _unpack(elf, aux, _NEED_AUX)
            weak, hidden = bool(flags & _WEAK), bool(other & _HIDDEN)
            found.append(NeededVersion(file, elf.string(name), weak, hidden, other & _INDEX))
            if len(found) > _MAX_NODES:
                raise BadBinaryError("the version needs do not end")
    return found


def defined_versions(elf: Elf) -> dict[int, str] | None:
    """Return index -> name of what a file defines; None where it has no version definitions.

    The base entry, which names the file itself, has the index 0 here: no symbol can use it.
    """
    if not elf.has(DT_VERDEF):
        return None
    found = {}
    for at in _chain(elf, elf.tags[DT_VERDEF], _DEFINITION):
        _, flags, index, _, _, first, _ = _unpack(elf, at, _DEFINITION)
        (name,) = _unpack(elf, at + first, _NAME)
        found[0 if flags & _BASE else index & _INDEX] = elf.string(name)
    return found


def _unpack(elf: Elf, address: int, layout: struct.Struct) -> tuple[int, ...]:
    return layout.unpack(elf.reader.read(elf.offset(address, layout.size), layout.size))


def _chain(elf: Elf, address: int, layout: struct.Struct) -> Iterator[int]:
    """Yield the addresses of linked entries; the last field is the distance to the next."""
    for _ in range(_MAX_NODES):
        yield address
        distance = _unpack(elf, address, layout)[-1]
        if not distance:
            return
        address += distance
    raise BadBinaryError("a table of versions does not end")
