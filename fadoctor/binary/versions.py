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
    for at, (_, count, file_name, first, _) in _chain(elf, elf.table(DT_VERNEED), _NEED):
        if not count:
            continue
        file = elf.string(file_name)
        for _, (_, flags, other, name, _) in _chain(elf, at + first, _NEED_AUX):
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
    for at, (_, flags, index, _, _, first, _) in _chain(elf, elf.table(DT_VERDEF), _DEFINITION):
        (name,) = _NAME.unpack(elf.reader.read(at + first, _NAME.size))
        found[0 if flags & _BASE else index & _INDEX] = elf.string(name)
    return found


def _chain(elf: Elf, at: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield linked entries and their offsets; the last field is the distance to the next.

    A table lies within one segment, so distances in the file are those in memory.
    """
    read, size = elf.reader.read, layout.size
    for _ in range(_MAX_NODES):
        fields = layout.unpack(read(at, size))
        yield at, fields
        if not fields[-1]:
            return
        at += fields[-1]
    raise BadBinaryError("a table of versions does not end")
