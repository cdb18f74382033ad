"""Small ELF files written byte by byte, for machines and defects that no compiler here makes."""

from __future__ import annotations

import struct
from typing import NamedTuple

from fadoctor.binary.symbols import gnu_hash, sysv_hash

X86_64, AARCH64 = 62, 183
_DYN, _EXEC = 3, 2
_JUMP_SLOT = {X86_64: 7, AARCH64: 1026}


class Symbol(NamedTuple):
    """A dynamic symbol; a version is a name, and for an import the file that must have it."""

    name: str
    version: str = ""
    file: str = ""
    weak: bool = False
    referenced: bool = True


class Spec(NamedTuple):
    """What the file says."""

    needed: tuple[str, ...] = ()
    soname: str = ""
    rpath: str = ""
    runpath: str = ""
    imports: tuple[Symbol, ...] = ()
    exports: tuple[Symbol, ...] = ()
    machine: int = X86_64
    interpreter: str = ""
    sysv: bool = False
    extra: tuple[tuple[int, int], ...] = ()
    """More entries of the dynamic section."""


class _Image:
    """Bytes at addresses that are their offsets."""

    def __init__(self, start: int) -> None:
        self.data = bytearray(start)

    def put(self, data: bytes) -> int:
        self.data += bytes(-len(self.data) % 8)
        at = len(self.data)
        self.data += data
        return at


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(1)
        self._known: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._known[text]


def elf_file(spec: Spec) -> bytes:
    """Return a shared library, or a program where an interpreter is named."""
    segments = 3 if spec.interpreter else 2
    image, strings = _Image(64 + 56 * segments), _Strings()
    interpreter = image.put(spec.interpreter.encode() + b"\0") if spec.interpreter else 0
    tags = [(1, strings.add(name)) for name in spec.needed]
    for tag, text in ((14, spec.soname), (15, spec.rpath), (29, spec.runpath)):
        if text:
            tags.append((tag, strings.add(text)))
    exports = sorted(spec.exports, key=lambda s: gnu_hash(s.name.encode()) % 4)
    tags += _symbols(image, strings, spec.imports, exports)
    tags += _versions(image, strings, spec, exports)
    first = 1 + len(spec.imports)
    names = [symbol.name.encode() for symbol in exports]
    if spec.sysv:
        everything = [symbol.name.encode() for symbol in spec.imports] + names
        tags.append((4, image.put(_sysv_table(everything))))
    else:
        tags.append((0x6FFFFEF5, image.put(_gnu_table(names, first))))
    relocations = b"".join(
        struct.pack("<QQq", 0, (1 + i) << 32 | _JUMP_SLOT[spec.machine], 0)
        for i, symbol in enumerate(spec.imports)
        if symbol.referenced
    )
    if relocations:
        tags += [(23, image.put(relocations)), (2, len(relocations)), (20, 7)]
    tags += [(5, image.put(bytes(strings.data))), (10, len(strings.data)), *spec.extra, (0, 0)]
    dynamic = image.put(b"".join(struct.pack("<QQ", tag, value) for tag, value in tags))
    size = len(image.data)
    headers = [(1, 0, size), (2, dynamic, len(tags) * 16)]
    if spec.interpreter:
        headers.append((3, interpreter, len(spec.interpreter) + 1))
    for number, (kind, at, length) in enumerate(headers):
        entry = struct.pack("<IIQQQQQQ", kind, 6, at, at, at, length, length, 8)
        image.data[64 + 56 * number : 120 + 56 * number] = entry
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    image.data[:64] = ident + struct.pack(
        "<HHIQQQIHHHHHH", _DYN, spec.machine, 1, 0, 64, 0, 0, 64, 56, segments, 0, 0, 0
    )
    return bytes(image.data)


def _symbols(
    image: _Image, strings: _Strings, imports: tuple[Symbol, ...], exports: list[Symbol]
) -> list[tuple[int, int]]:
    table = bytes(24)
    for symbol in imports:
        info = (2 if symbol.weak else 1) << 4 | 2
        table += struct.pack("<IBBHQQ", strings.add(symbol.name), info, 0, 0, 0, 0)
    for symbol in exports:
        table += struct.pack("<IBBHQQ", strings.add(symbol.name), 0x12, 0, 1, 0x40, 4)
    return [(6, image.put(table))]


def _versions(
    image: _Image, strings: _Strings, spec: Spec, exports: list[Symbol]
) -> list[tuple[int, int]]:
    pairs = list(dict.fromkeys((s.file, s.version) for s in spec.imports if s.version))
    nodes = list(dict.fromkeys(s.version for s in exports if s.version))
    if not pairs and not nodes:
        return []
    defined = {name: 2 + number for number, name in enumerate(nodes)}
    needed = {pair: 2 + len(nodes) + number for number, pair in enumerate(pairs)}
    numbers = [0, *(needed.get((s.file, s.version), 1) for s in spec.imports)]
    numbers += [defined.get(s.version, 1) for s in exports]
    tags = [(0x6FFFFFF0, image.put(struct.pack(f"<{len(numbers)}H", *numbers)))]
    if pairs:
        data = b""
        for place, (file, name) in enumerate(pairs):
            following = 32 if place < len(pairs) - 1 else 0
            data += struct.pack("<HHIII", 1, 1, strings.add(file), 16, following)
            value = sysv_hash(name.encode())
            data += struct.pack("<IHHII", value, 0, needed[file, name], strings.add(name), 0)
        tags += [(0x6FFFFFFE, image.put(data)), (0x6FFFFFFF, len(pairs))]
    if nodes:
        data, listed = b"", [(1, 1, spec.soname), *((0, defined[n], n) for n in nodes)]
        for place, (flags, number, name) in enumerate(listed):
            following = 28 if place < len(listed) - 1 else 0
            value = sysv_hash(name.encode())
            data += struct.pack("<HHHHIII", 1, flags, number, 1, value, 20, following)
            data += struct.pack("<II", strings.add(name), 0)
        tags += [(0x6FFFFFFC, image.put(data)), (0x6FFFFFFD, len(listed))]
    return tags


def _gnu_table(names: list[bytes], first: int) -> bytes:
    """Return a table of 4 buckets; the names are sorted by bucket already."""
    hashes = [gnu_hash(name) for name in names]
    bloom, buckets, chain = 0, [0] * 4, b""
    for place, value in enumerate(hashes):
        bloom |= 1 << (value & 63) | 1 << (value >> 6 & 63)
        buckets[value % 4] = buckets[value % 4] or first + place
        last = place == len(hashes) - 1 or hashes[place + 1] % 4 != value % 4
        chain += struct.pack("<I", value & ~1 | last)
    return struct.pack("<IIIIQ4I", 4, first, 1, 6, bloom, *buckets) + chain


def _sysv_table(names: list[bytes]) -> bytes:
    """Return a table of all symbols, the null symbol left out of the chains."""
    buckets, chain = [0] * 3, [0] * (len(names) + 1)
    for place, name in enumerate(names, start=1):
        bucket = sysv_hash(name) % 3
        chain[place], buckets[bucket] = buckets[bucket], place
    return struct.pack(f"<II3I{len(chain)}I", 3, len(chain), *buckets, *chain)
