"""Symbol look-up as the loader does it, and the symbols that a file wants looked up.

GNU hash: u32 buckets, u32 first hashed symbol, u32 Bloom words, u32 shift, u64 Bloom words, u32
buckets, u32 chain (lowest bit: end). SysV hash: u32 buckets, u32 chains, u32 buckets, u32 chain.
Symbol, 24 bytes: u32 name, u8 type and binding, u8 visibility, u16 section, u64 value, u64 size.
"""

from __future__ import annotations

import enum
import struct
import sys
from array import array
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary import elf as tags
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.versions import NeededVersion, defined_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.binary.elf import Elf

_SYMBOL = struct.Struct("<IBBHQQ")
_WORD = struct.Struct("<I")
_RELA = struct.Struct("<8xQ8x")
_REL = struct.Struct("<8xQ")
_MASK = 0xFFFFFFFF
_CHUNK = 24 * 2 * 16_384
_MAX_CHAIN = 4_096
_MAX_WORDS = 1 << 20
_MAX_IMPORTS = 50_000
_MAX_RELOCATIONS = 5_000_000
_MAX_STEPS = 2_000_000
"""Links that are followed in one file's hash table; long chains for many names would take hours."""
_LOCAL, _GLOBAL, _WEAK, _UNIQUE = 0, 1, 2, 10
_MAY_BE_ABSENT = frozenset({_LOCAL, _WEAK})
_TYPES = frozenset({0, 1, 2, 5, 6, 10})
"""STT_NOTYPE, OBJECT, FUNC, COMMON, TLS and GNU_IFUNC: what can be linked to."""
_TLS, _ABSOLUTE = 6, 0xFFF1
_HIDDEN_VISIBILITY = frozenset({1, 2})


class Import(msgspec.Struct, frozen=True):
    """A symbol that must be found somewhere, or the file does not load."""

    name: bytes
    gnu_hash: int
    version: NeededVersion | None


class Find(enum.Enum):
    """The outcome of a look-up that found something."""

    FOUND = "found"
    UNVERSIONED = "unversioned"
    """A version is wanted and this file has no version table at all."""


def gnu_hash(name: bytes) -> int:
    """Return the hash of DT_GNU_HASH."""
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & _MASK
    return value


def sysv_hash(name: bytes) -> int:
    """Return the hash of DT_HASH."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & 0x0FFFFFFF
    return value


class SymbolTable:
    """The dynamic symbols of one file."""

    def __init__(self, elf: Elf, needs: Iterable[NeededVersion]) -> None:
        self._elf, self._read = elf, elf.reader.read
        self._symbols = elf.table(tags.DT_SYMTAB) if elf.has(tags.DT_SYMTAB) else 0
        self._strings, self._strings_size = elf.strings()
        self._versym = elf.table(tags.DT_VERSYM) if elf.has(tags.DT_VERSYM) else 0
        self._needed = {v.index: v for v in needs}
        self.defined = defined_versions(elf)
        names = {index: v.name for index, v in self._needed.items()}
        self._names = names | {i: name for i, name in (self.defined or {}).items() if i}
        self._hash: _Hash = _read_hash(elf)

    def find(self, wanted: Import) -> Find | None:
        """Look a symbol up; None where this file does not have it."""
        only_versioned = 0
        for index in self._hash.candidates(wanted):
            symbol = self._symbol(index)
            if not self._is_definition(symbol, wanted.name):
                continue
            version = wanted.version
            if not self._versym:
                return Find.FOUND if version is None else Find.UNVERSIONED
            number = self._version_of(index)
            if version is None:
                if number & 0x7FFF < 3:
                    return Find.FOUND
                only_versioned += not number & 0x8000
            elif self._is_version(number, version):
                return Find.FOUND
        return Find.FOUND if only_versioned == 1 else None

    def at(self, index: int) -> Import | None:
        """Return a symbol that is looked up by its name; None where only this file's own serves."""
        name, info, other, _, _, _ = self._symbol(index)
        own = info >> 4 == _LOCAL or other & 3
        return None if own else self._import(index, name)

    def imports(self) -> list[Import]:
        """Return what must be found elsewhere, in the order in which the loader asks for it.

        Only what a relocation refers to: an undefined symbol that none does is never looked up.
        """
        found = []
        for index in self._referenced():
            name, info, other, section, _, _ = self._symbol(index)
            if section or info >> 4 in _MAY_BE_ABSENT or other & 3 in _HIDDEN_VISIBILITY:
                continue
            found.append(self._import(index, name))
            if len(found) > _MAX_IMPORTS:
                raise BadBinaryError("too many imports")
        return found

    def _import(self, index: int, name: int) -> Import:
        text = self._elf.string_bytes(name)
        version = self._needed.get(self._version_of(index) & 0x7FFF) if self._versym else None
        return Import(text, gnu_hash(text), version)

    def _symbol(self, index: int) -> tuple[int, int, int, int, int, int]:
        if not self._symbols:
            raise BadBinaryError("there is no symbol table")
        return _SYMBOL.unpack(self._read(self._symbols + index * 24, 24))

    def _version_of(self, index: int) -> int:
        return int.from_bytes(self._read(self._versym + index * 2, 2), "little")

    def _is_definition(self, symbol: tuple[int, int, int, int, int, int], name: bytes) -> bool:
        at, info, other, section, value, _ = symbol
        kind = info & 15
        if not section or kind not in _TYPES or info >> 4 not in {_GLOBAL, _WEAK, _UNIQUE}:
            return False
        if not value and section != _ABSOLUTE and kind != _TLS:
            return False
        if other & 3 in _HIDDEN_VISIBILITY or at + len(name) >= self._strings_size:
            return False
        return self._read(self._strings + at, len(name) + 1) == name + b"\0"

    def _is_version(self, number: int, wanted: NeededVersion) -> bool:
        name = self._names.get(number & 0x7FFF)
        if name == wanted.name:
            return True
        # A symbol without version serves a caller that does not insist.
        return not (wanted.hidden or name is not None or number & 0x8000)

    def _referenced(self) -> dict[int, None]:
        """Return the symbols of relocations, each once, in the loader's order."""
        found: dict[int, None] = {}
        first_hashed = self._hash.first_hashed
        for offset, size, layout in relocation_tables(self._elf):
            if size > _MAX_RELOCATIONS * layout.size:
                raise BadBinaryError("too many relocations")
            for at in range(offset, offset + size, _CHUNK):
                data = self._read(at, min(_CHUNK, offset + size - at))
                # Low half: type, 0 is none. High half: symbol; hashed ones are defined.
                for (info,) in layout.iter_unpack(data):
                    index = info >> 32
                    if 0 < index < first_hashed and info & _MASK:
                        found[index] = None
        return found


def relocation_tables(elf: Elf) -> Iterator[tuple[int, int, struct.Struct]]:
    """Yield offset, size and layout of the tables, without leading relative relocations."""
    tables = (
        (tags.DT_REL, tags.DT_RELSZ, tags.DT_RELCOUNT, _REL),
        (tags.DT_RELA, tags.DT_RELASZ, tags.DT_RELACOUNT, _RELA),
        (tags.DT_JMPREL, tags.DT_PLTRELSZ, 0, None),
    )
    for tag, size_tag, count_tag, fixed in tables:
        layout = fixed or (_REL if elf.tags.get(tags.DT_PLTREL) == tags.DT_REL else _RELA)
        size = elf.tags.get(size_tag, 0) // layout.size * layout.size
        if not elf.has(tag) or not size:
            continue
        skip = min(elf.tags.get(count_tag, 0) * layout.size, size) if count_tag else 0
        if skip < size:
            yield elf.offset(elf.tags[tag], size) + skip, size - skip, layout


class _Hash:
    """A file without a hash table offers nothing."""

    first_hashed = 1 << 32
    """Symbols before this one are not in the table, so they are undefined or local."""

    def __init__(self) -> None:
        self._steps = 0

    def candidates(self, wanted: Import) -> Iterable[int]:
        """Return the symbols that may have a name."""
        del wanted
        return ()

    def step(self) -> None:
        """Count a link."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise BadBinaryError("its hash table is too much work")


class _GnuHash(_Hash):
    def __init__(self, elf: Elf) -> None:
        super().__init__()
        read = elf.reader.read
        start = elf.table(tags.DT_GNU_HASH)
        self._count, first, words, self._shift = struct.unpack("<IIII", read(start, 16))
        if not words or words & (words - 1) or words > _MAX_WORDS:
            raise BadBinaryError(f"a Bloom filter of {words} words cannot be")
        self._bloom = _array("Q", read(start + 16, words * 8))
        self._mask = words - 1
        self._buckets = start + 16 + words * 8
        self._chain = self._buckets + self._count * 4 - first * 4
        self._read = read
        # The linker writes 1 for an empty table, whatever the number of symbols.
        if self._count and any(self._bloom):
            self.first_hashed = first

    def candidates(self, wanted: Import) -> Iterable[int]:
        value = wanted.gnu_hash
        word = self._bloom[(value >> 6) & self._mask]
        if self._count and (word >> (value & 63)) & (word >> ((value >> self._shift) & 63)) & 1:
            return self._walk(value)
        return ()

    def _walk(self, value: int) -> Iterator[int]:
        (index,) = _WORD.unpack(self._read(self._buckets + value % self._count * 4, 4))
        if not index:
            return
        for number in range(index, index + _MAX_CHAIN):
            self.step()
            (entry,) = _WORD.unpack(self._read(self._chain + number * 4, 4))
            if (entry ^ value) >> 1 == 0:
                yield number
            if entry & 1:
                return
        raise BadBinaryError("a hash chain does not end")


class _SysvHash(_Hash):
    def __init__(self, elf: Elf) -> None:
        super().__init__()
        self._read, self._start = elf.reader.read, elf.table(tags.DT_HASH)
        self._count, self._chains = struct.unpack("<II", self._read(self._start, 8))

    def candidates(self, wanted: Import) -> Iterator[int]:
        if not self._count:
            return
        index = self._word(2 + sysv_hash(wanted.name) % self._count)
        for _ in range(min(_MAX_CHAIN, self._chains)):
            if not index:
                return
            self.step()
            yield index
            index = self._word(2 + self._count + index)
        if index:
            raise BadBinaryError("a hash chain does not end")

    def _word(self, number: int) -> int:
        return int.from_bytes(self._read(self._start + number * 4, 4), "little")


def _array(code: str, data: bytes) -> array[int]:
    values = array(code, data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _read_hash(elf: Elf) -> _Hash:
    if elf.has(tags.DT_GNU_HASH):
        return _GnuHash(elf)
    return _SysvHash(elf) if elf.has(tags.DT_HASH) else _Hash()
