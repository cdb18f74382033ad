"""Read everything that is read of an ELF file, from bytes that may be anything."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.binary.abi import c10_abi, symbol_abi
from fadoctor.binary.demangle import Demangler
from fadoctor.binary.elf import read_elf
from fadoctor.binary.files import BlockCache, Reader
from fadoctor.binary.header import Machine
from fadoctor.binary.ld_cache import LdCache
from fadoctor.binary.loader import File, Loaded
from fadoctor.binary.notes import needed_isa
from fadoctor.binary.processor import read_processor
from fadoctor.binary.search import FoundBy, SearchPath
from fadoctor.binary.similar_overload import overloads
from fadoctor.binary.static_tls import offset_symbols

if TYPE_CHECKING:
    import random

SEEDS = Path(__file__).parent / "seeds"

_DEMANGLER = Demangler()
_LOOKED_UP = 50


def exercise(data: bytes) -> None:
    """Read a file whole; raises BadBinaryError, and nothing else, where that cannot be."""
    cache = LdCache(data, Machine.X86_64)
    for soname in cache.sonames[:_LOOKED_UP]:
        cache.find(soname)
    read_processor(data, Machine.X86_64)
    descriptor = os.memfd_create("mutation")
    try:
        os.write(descriptor, data)
        file = File(read_elf(Reader(descriptor, BlockCache())))
        symbols = file.symbols
        imports = symbols.imports()
        for wanted in imports[:_LOOKED_UP]:
            symbols.find(wanted)
            name = wanted.name.decode("utf-8", "surrogateescape")
            symbol_abi(name)
            _DEMANGLER.demangle(name)
        c10_abi(symbols)
        names = [wanted.name.decode("latin-1") for wanted in imports[:3]]
        one = Loaded(file, SearchPath("/x", FoundBy.PATH), None)
        list(overloads(one, names))
        needed_isa(file.elf)
        offset_symbols(one)
    finally:
        os.close(descriptor)


def seeds() -> list[bytes]:
    """Return the corpus."""
    return [path.read_bytes() for path in sorted(SEEDS.iterdir())]


_NUMBERS = (0, 1, 2, 7, 8, 24, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000)
_LARGE = (0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return a damaged copy: bits, numbers in aligned places, moved pieces, another length."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not changed:
            break
        at = rng.randrange(len(changed))
        match rng.randrange(7):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.randrange(256)
            case 2 | 3:
                _put_number(changed, at, rng)
            case 4:
                size = rng.randrange(1, 65)
                start = rng.randrange(len(changed))
                changed[at : at + size] = changed[start : start + size]
            case 5:
                del changed[at : at + rng.randrange(1, 17)]
            case _:
                if rng.randrange(4) == 0:
                    del changed[at:]
                else:
                    changed[at:at] = bytes(rng.randrange(1, 33))
    return bytes(changed)


def _put_number(changed: bytearray, at: int, rng: random.Random) -> None:
    """Write a number that is likely to matter where a field is likely to be."""
    near = (len(changed), rng.randrange(len(changed)), at + rng.randrange(-64, 64))
    value = rng.choice((*_NUMBERS, *_LARGE, *near))
    layout = rng.choice(("<H", "<I", "<Q", "<Q"))
    size = struct.calcsize(layout)
    at -= at % size
    if at + size <= len(changed):
        struct.pack_into(layout, changed, at, value & ((1 << 8 * size) - 1))
