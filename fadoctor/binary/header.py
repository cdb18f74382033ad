"""The first look at an ELF file, with the checks and the words of glibc's ``open_verify``.

System V ABI, chapters 4 and 5 (ELF header, program header); all fields little-endian.
"""

from __future__ import annotations

import enum
import struct
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.reason import NO_PROGRAM_HEADERS, Kind

if TYPE_CHECKING:
    from fadoctor.binary.files import Reader


class Machine(enum.Enum):
    """``e_machine`` of what is understood here."""

    X86_64 = 62
    AARCH64 = 183


class Segment(msgspec.Struct, frozen=True):
    """A program header."""

    type: int
    offset: int
    address: int
    file_size: int


class Header(msgspec.Struct, frozen=True):
    """What the loader reads before it maps anything."""

    machine: Machine
    type: int
    segments: tuple[Segment, ...]


class Refusal(msgspec.Struct, frozen=True):
    """Why the loader does not take a file."""

    kind: Kind
    detail: str
    passed_over: bool = False
    """In a search the loader goes on to the next folder."""


ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")


def read_header(reader: Reader, machine: Machine | None = None) -> Header | Refusal:
    """Return the header of a file that a loader of `machine` (any known one if None) takes."""
    if reader.size < _HEADER.size:
        return Refusal(Kind.NOT_ELF, "file too short")
    fields = _HEADER.unpack(reader.read(0, _HEADER.size))
    ident, kind, number, version = fields[:4]
    if problem := _check_ident(ident):
        return problem
    if version != 1:
        return Refusal(Kind.NOT_ELF, "ELF file version does not match current one")
    found = next((m for m in Machine if m.value == number), None)
    if found is None or found is not (machine or found):
        return Refusal(Kind.FOREIGN_MACHINE, "", passed_over=True)
    if kind not in {ET_EXEC, ET_DYN}:
        return Refusal(Kind.NOT_A_LIBRARY, "only ET_DYN and ET_EXEC can be loaded")
    if fields[9] != _SEGMENT.size:
        return Refusal(Kind.NOT_A_LIBRARY, "ELF file's phentsize not the expected size")
    return _read_segments(reader, found, kind, offset=fields[5], count=fields[10])


def _check_ident(ident: bytes) -> Refusal | None:
    if ident[:4] != b"\x7fELF":
        return Refusal(Kind.NOT_ELF, "invalid ELF header")
    if ident[4] != 2:
        words = "wrong ELF class: ELFCLASS32" if ident[4] == 1 else ""
        return Refusal(Kind.FOREIGN_MACHINE, words, passed_over=True)
    if ident[5] != 1:
        return Refusal(Kind.FOREIGN_MACHINE, "ELF file data encoding not little-endian")
    if ident[6] != 1:
        return Refusal(Kind.NOT_ELF, "ELF file version ident does not match current one")
    # System V or GNU; what follows is its version and padding.
    if ident[7] not in {0, 3}:
        return Refusal(Kind.NOT_ELF, "ELF file OS ABI invalid")
    if ident[8] > 3 or (ident[8] and ident[7] == 0):
        return Refusal(Kind.NOT_ELF, "ELF file ABI version invalid")
    if any(ident[9:]):
        return Refusal(Kind.NOT_ELF, "nonzero padding in e_ident")
    return None


def _read_segments(
    reader: Reader, machine: Machine, kind: int, *, offset: int, count: int
) -> Header | Refusal:
    if offset + count * _SEGMENT.size > reader.size:
        return Refusal(Kind.TRUNCATED, NO_PROGRAM_HEADERS)
    table = reader.read(offset, count * _SEGMENT.size)
    segments = tuple(
        Segment(type=t, offset=o, address=a, file_size=s)
        for t, _, o, a, _, s, _, _ in _SEGMENT.iter_unpack(table)
    )
    loads = [s for s in segments if s.type == PT_LOAD]
    if not loads:
        return Refusal(Kind.NOT_A_LIBRARY, "object file has no loadable segments")
    end = max(s.offset + s.file_size for s in loads)
    if end > reader.size:
        return Refusal(Kind.TRUNCATED, f"{reader.size} of at least {end} bytes are there")
    if not any(s.type == PT_DYNAMIC and s.file_size for s in segments):
        return Refusal(Kind.NOT_A_LIBRARY, "object file has no dynamic section")
    return Header(machine, kind, segments)
