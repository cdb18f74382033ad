"""The first look at an ELF file, with the checks and the words of glibc's ``open_verify``.

System V ABI, chapters 4 and 5 (ELF header, program header); all fields little-endian.
"""

from __future__ import annotations

import enum
import struct
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.reason import NO_PROGRAM_HEADERS, ReasonKind

if TYPE_CHECKING:
    from fadoctor.binary.files import Reader


class Machine(enum.Enum):
    """``e_machine`` of what is understood here."""

    X86_64 = 62
    AARCH64 = 183


class ProgramHeader(msgspec.Struct, frozen=True):
    """A program header."""

    type: int
    offset: int
    address: int
    file_size: int
    memory_size: int = 0
    alignment: int = 0


class Header(msgspec.Struct, frozen=True):
    """What the loader reads before it maps anything."""

    machine: Machine
    type: int
    segments: tuple[ProgramHeader, ...]


class Refusal(msgspec.Struct, frozen=True):
    """Why the loader does not take a file."""

    kind: ReasonKind
    detail: str
    passed_over: bool = False
    """In a search the loader goes on to the next folder."""


ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS, PT_GNU_PROPERTY = 1, 2, 3, 4, 7, 0x6474E553

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")


def read_header(reader: Reader, machine: Machine | None = None) -> Header | Refusal:
    """Return the header of a file that a loader of `machine` (any known one if None) takes."""
    if reader.size < _HEADER.size:
        return Refusal(ReasonKind.NOT_ELF, "file too short")
    fields = _HEADER.unpack(reader.read(0, _HEADER.size))
    ident, kind, number, version = fields[:4]
    found = next((m for m in Machine if m.value == number), None)
    problem = _check_ident(ident) or _check_fields(kind, version, fields[9])
    if problem is not None and problem.kind is not ReasonKind.NOT_A_LIBRARY:
        return problem
    if found is None or found is not (machine or found):
        return Refusal(ReasonKind.FOREIGN_MACHINE, "", passed_over=True)
    return problem or _read_segments(reader, found, kind, offset=fields[5], count=fields[10])


def _check_ident(ident: bytes) -> Refusal | None:
    """Check magic, class, byte order, version, system (System V or GNU), its version, padding."""
    if ident[:4] == b"\x7fELF" and ident[4] != 2:
        words = "wrong ELF class: ELFCLASS32" if ident[4] == 1 else ""
        return Refusal(ReasonKind.FOREIGN_MACHINE, words, passed_over=True)
    checks = (
        (ident[:4] == b"\x7fELF", ReasonKind.NOT_ELF, "invalid ELF header"),
        (ident[5] == 1, ReasonKind.FOREIGN_MACHINE, "ELF file data encoding not little-endian"),
        (ident[6] == 1, ReasonKind.NOT_ELF, "ELF file version ident does not match current one"),
        (ident[7] in {0, 3}, ReasonKind.NOT_ELF, "ELF file OS ABI invalid"),
        (ident[8] <= ident[7], ReasonKind.NOT_ELF, "ELF file ABI version invalid"),
        (not any(ident[9:]), ReasonKind.NOT_ELF, "nonzero padding in e_ident"),
    )
    return next((Refusal(kind, words) for fine, kind, words in checks if not fine), None)


def _check_fields(kind: int, version: int, entry_size: int) -> Refusal | None:
    if version != 1:
        return Refusal(ReasonKind.NOT_ELF, "ELF file version does not match current one")
    if kind not in {ET_EXEC, ET_DYN}:
        return Refusal(ReasonKind.NOT_A_LIBRARY, "only ET_DYN and ET_EXEC can be loaded")
    if entry_size != _SEGMENT.size:
        return Refusal(ReasonKind.NOT_A_LIBRARY, "ELF file's phentsize not the expected size")
    return None


def _read_segments(
    reader: Reader, machine: Machine, kind: int, *, offset: int, count: int
) -> Header | Refusal:
    if offset + count * _SEGMENT.size > reader.size:
        return Refusal(ReasonKind.TRUNCATED, NO_PROGRAM_HEADERS)
    table = reader.read(offset, count * _SEGMENT.size)
    segments = tuple(
        ProgramHeader(type=t, offset=o, address=a, file_size=s, memory_size=m, alignment=n)
        for t, _, o, a, _, s, m, n in _SEGMENT.iter_unpack(table)
    )
    loads = [s for s in segments if s.type == PT_LOAD]
    if not loads:
        return Refusal(ReasonKind.NOT_A_LIBRARY, "object file has no loadable segments")
    # A file of debug information only ends early, too; the loader looks at neither of its pages.
    if not any(s.type == PT_DYNAMIC and s.file_size for s in segments):
        return Refusal(ReasonKind.NOT_A_LIBRARY, "object file has no dynamic section")
    end = max(s.offset + s.file_size for s in loads)
    if end > reader.size:
        return Refusal(ReasonKind.TRUNCATED, f"{reader.size} of at least {end} bytes are there")
    return Header(machine, kind, segments)
