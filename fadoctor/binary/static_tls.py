"""Thread-local variables that must lie in the block which every thread has from its start.

A library that is opened later gets a place there only as long as some is left (glibc,
``elf/dl-reloc.c``). How much is left depends on the glibc, on what was opened before and on a
tunable, so between what always fits and what never does nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.binary import elf as tags
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.header import PT_TLS, Machine
from fadoctor.binary.reason import Reason, ReasonKind
from fadoctor.binary.symbols import Find, relocation_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.binary.loader import Loaded, Process

FITS, FULL = 1024, 2048
"""Bytes of all libraries together: up to the first there is room; beyond the second there is none.

The loader keeps 1,664 and what rounding leaves; 1,700 were measured to fit and 1,728 not to.
"""
_OFFSET_RELOCATION = {Machine.X86_64: 18, Machine.AARCH64: 1030}
"""R_X86_64_TPOFF64, R_AARCH64_TLS_TPREL."""
_CHUNK = 24 * 2 * 16_384
_MAX_RELOCATIONS = 5_000_000
_MAX_SYMBOLS = 1_000


class StaticTls:
    """The block of one process, while libraries are opened."""

    def __init__(self, process: Process, scope: Sequence[Loaded], added: Sequence[Loaded]) -> None:
        self._process, self._scope, self._added = process, scope, added
        self._placed: dict[int, int] = {}
        self._counted = False

    def problems(self, one: Loaded) -> Iterator[Reason]:
        """Yield why there is no place for what a library wants there."""
        if not self._wants(one):
            return
        if not self._counted:
            self._count_before()
        for owner in self._owners(one):
            if self._is_placed(owner):
                continue
            self._placed[id(owner)] = _size(owner)
            total = sum(self._placed.values())
            if total > FULL:
                yield Reason(ReasonKind.STATIC_TLS, owner.path)
            elif total > FITS:
                words = f"{total} bytes of thread-local variables may be too many"
                yield Reason(ReasonKind.STATIC_TLS_UNSURE, owner.path, detail=words)

    def _wants(self, one: Loaded) -> bool:
        flagged = one.elf.tags.get(tags.DT_FLAGS, 0) & tags.DF_STATIC_TLS
        return bool(flagged and self._process.at_start)

    def _is_placed(self, one: Loaded) -> bool:
        return id(one) in self._placed or one in self._process.objects[: self._process.at_start]

    def _count_before(self) -> None:
        """Count what was opened before; that has its place."""
        self._counted = True
        for one in self._process.objects[self._process.at_start :]:
            if one not in self._added and self._wants(one):
                self._placed[id(one)] = _size(one)

    def _owners(self, one: Loaded) -> list[Loaded]:
        """Return whose variables a library reaches at a fixed distance, in its order."""
        found: dict[int, Loaded] = {}
        for index in offset_symbols(one):
            owner = one if not index else self._owner(one, index)
            if owner is not None:
                found[id(owner)] = owner
        return list(found.values())

    def _owner(self, one: Loaded, index: int) -> Loaded | None:
        wanted = one.file.symbols.at(index)
        if wanted is None:
            return one
        outcomes = ((each, each.file.symbols.find(wanted)) for each in self._scope)
        return next((each for each, outcome in outcomes if outcome is Find.FOUND), None)


def _size(one: Loaded) -> int:
    segment = next((s for s in one.elf.segments if s.type == PT_TLS), None)
    if segment is None:
        return 0
    alignment = max(1, min(segment.alignment, 4096))
    return -(-segment.memory_size // alignment) * alignment


def offset_symbols(one: Loaded) -> list[int]:
    """Return the symbols, each once, whose distance from the thread's block is asked for."""
    wanted = _OFFSET_RELOCATION[one.elf.machine]
    found: dict[int, None] = {}
    for offset, size, layout in relocation_tables(one.elf):
        if size > _MAX_RELOCATIONS * layout.size:
            raise BadBinaryError("too many relocations")
        for at in range(offset, offset + size, _CHUNK):
            data = one.elf.reader.read(at, min(_CHUNK, offset + size - at))
            for (info,) in layout.iter_unpack(data):
                if info & 0xFFFFFFFF == wanted:
                    found[info >> 32] = None
            if len(found) > _MAX_SYMBOLS:
                raise BadBinaryError("too many thread-local variables")
    return list(found)
