"""GPU code for AMD in a compiled file: the bundles of clang, and the GPUs that they are for.

A wrapper of the library (u32 magic "HIPF", u32 version 1, u64 pointer, u64) hands each bundle to
the HIP runtime. A bundle is "__CLANG_OFFLOAD_BUNDLE__", u64 number of entries, and for each u64
offset, u64 size, u64 length and the name, ``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-``. A compressed
one is "CCOB", u16 version, u16 method (0 zlib, 1 Zstandard), sizes (version 1: u32 of the content;
2: u32 of the whole, u32 of the content; 3: the same as u64), u64 hash, and the bundle, compressed.
Little-endian. Source: LLVM, "ClangOffloadBundler" and clang/lib/Driver/OffloadBundler.cpp.
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.registration import HIP, read_wrappers
from fadoctor.binary.segments import read_layout
from fadoctor.binary.source import open_source
from fadoctor.binary.zstd_start import BLOCK_LIMIT, HEADER_LIMIT, first_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.binary.source import BinarySource

PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED = b"CCOB"
MAX_ENTRIES = 256
MAX_NAME = 256
READ_LIMIT = 64
"""Bundles of a file that are read: those of a library are for the same GPUs, as it is compiled."""
_HEAD = struct.Struct("<24sQ")
_ENTRY = struct.Struct("<QQQ")
_PACKED = struct.Struct("<4sHH")
_PACKED_SIZES = {1: 12, 2: 16, 3: 24}
"""Version -> bytes of sizes and hash."""
_ZLIB, _ZSTD = 0, 1
_START = 1 << 14
"""Bytes of a bundle that are looked at: what begins after its entries is code."""
# hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-, hip-amdgcn-amd-amdhsa-unknown-gfx11-generic
_TARGET = r"hip(?:v\d)?-amdgcn-amd-amdhsa-[a-z]{0,16}-(gfx[0-9a-z-]{1,24})(?::|$)"


class Bundle(msgspec.Struct, frozen=True):
    """The code of one part of a library, for one GPU or several."""

    offset: int
    packed: str
    """zlib, zstd, or empty where it is not compressed."""
    names: tuple[str, ...]
    """Names of the entries that hold something, as the bundle has them."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The GPUs: gfx90a, or a generic target such as gfx11-generic."""
        found = (re.match(_TARGET, name) for name in self.names)
        return tuple(dict.fromkeys(match[1] for match in found if match))


class Offload(msgspec.Struct, frozen=True):
    """The bundles of a file."""

    bundles: tuple[Bundle, ...]
    """By place in the file; at most READ_LIMIT, spread over all."""
    count: int
    """How many there are."""

    @property
    def common(self) -> tuple[str, ...]:
        """The GPUs that every bundle has code for."""
        sets = [set(bundle.targets) for bundle in self.bundles if bundle.targets]
        return tuple(sorted(set.intersection(*sets))) if sets else ()


def read_offload(path: str | Path) -> Offload:
    """Read the bundles that a library hands to the HIP runtime.

    Raises BadBinaryError and nothing else. Costs some milliseconds for each bundle that is read.
    """
    with open_source(path) as source:
        layout = read_layout(source)
        places = sorted(read_wrappers(source, layout, HIP).containers)
        step = max(-(-len(places) // READ_LIMIT), 1)
        bundles = tuple(_bundle(source, place) for place in places[::step])
        return Offload(bundles, len(places))


def _bundle(source: BinarySource, place: int) -> Bundle:
    head = source.read(place, min(_START, source.size - place))
    if head.startswith(PACKED):
        method, content = _unpacked(source, place, head)
        return Bundle(place, method, _names(content))
    return Bundle(place, "", _names(head))


def _unpacked(source: BinarySource, place: int, head: bytes) -> tuple[str, bytes]:
    """Return how a bundle is compressed, and what it begins with."""
    if len(head) < _PACKED.size:
        raise BadBinaryError(f"truncated: a bundle at {place:#x}")
    _, version, method = _PACKED.unpack_from(head)
    sizes = _PACKED_SIZES.get(version)
    if sizes is None:
        raise BadBinaryError(f"a compressed bundle of version {version}")
    start = place + _PACKED.size + sizes
    data = source.read(start, max(min(BLOCK_LIMIT + HEADER_LIMIT, source.size - start), 0))
    if method == _ZSTD:
        return "zstd", first_bytes(data, _START)
    if method == _ZLIB:
        try:
            return "zlib", zlib.decompressobj().decompress(data, _START)
        except zlib.error as error:
            raise BadBinaryError(f"a bundle at {place:#x} is not what zlib packs") from error
    raise BadBinaryError(f"a bundle that is compressed by method {method}")


def _names(content: bytes) -> tuple[str, ...]:
    """Return the names of the entries that hold something."""
    if len(content) < _HEAD.size:
        raise BadBinaryError("truncated: a bundle of code")
    magic, count = _HEAD.unpack_from(content)
    if magic != PLAIN or count > MAX_ENTRIES:
        raise BadBinaryError("no bundle of code where one is registered")
    found, place = [], _HEAD.size
    for _ in range(count):
        if place + _ENTRY.size > len(content):
            raise BadBinaryError("truncated: the entries of a bundle")
        _, size, length = _ENTRY.unpack_from(content, place)
        place += _ENTRY.size
        if length > MAX_NAME or place + length > len(content):
            raise BadBinaryError("truncated: a name in a bundle")
        if size:
            found.append(content[place : place + length].decode("ascii", "replace"))
        place += length
    return tuple(found)
