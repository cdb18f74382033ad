"""One image of a fatbin container: its header.

u16 kind, u16, u32 header size (64 or more), u64 payload size, u32 compressed size, u32 offset of
the options, u16 minor and u16 major of the code version, u32 architecture, u32 offset and u32
length of a source name, u64 flags, u64, u64 uncompressed size. Little-endian. NVIDIA does not
publish this; it was observed in output of CUDA 11.8 to 13.2 and is compared with cuobjdump in the
tests.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from fadoctor.binary.source import BinarySource

_HEADER = struct.Struct("<HHIQIIHHIIIQQQ")
_OPTIONS = struct.Struct("<II")  # offset in the header, length
_USUAL_HEADER = 128
_LONGEST_HEADER = 1 << 16
_LONGEST_OPTIONS = 256
_LZ4, _ZSTD = 0x2000, 0x8000
_SPECIFIC, _FAMILY = 0x100000, 0x200000


class BadImageError(BadBinaryError):
    """The header of an image is malformed."""


class ImageKind(Enum):
    """What an image is."""

    PTX = "ptx"
    CUBIN = "cubin"
    LTO = "lto"
    OTHER = "other"


class Compression(Enum):
    """How the payload of an image is stored."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"
    OTHER = "other"


_KINDS = {1: ImageKind.PTX, 2: ImageKind.CUBIN, 8: ImageKind.LTO}


class Image(msgspec.Struct, frozen=True):
    """The code of a container for one architecture."""

    kind: ImageKind
    architecture: int
    """90 for compute capability 9.0."""
    suffix: str
    """a (this architecture only), f (its family), or nothing."""
    version: tuple[int, int]
    """Of PTX the ISA, (8, 4); of a cubin that of its format."""
    flags: int
    compression: Compression
    size: int
    """Bytes of the payload, as stored."""
    uncompressed_size: int
    """0 where the payload is stored plain."""
    options: str
    """For the compiler in the driver; --compile-only marks relocatable PTX."""
    offset: int
    """Where the payload lies in the file."""

    @property
    def target(self) -> str:
        """What it is for, as lists of architectures write it: 8.0, 9.0a, 10.0f."""
        return f"{self.architecture // 10}.{self.architecture % 10}{self.suffix}"


def read_image(source: BinarySource, start: int, end: int) -> Image:
    """Return the image at `start` of a container that ends at `end`, or raise BadImageError."""
    if end - start < _HEADER.size:
        raise BadImageError(f"an image at {start:#x} is cut off")
    data = source.read(start, min(_USUAL_HEADER, end - start))
    (
        kind, _, header, size, compressed, options, minor, major, architecture,
        _, _, flags, _, uncompressed,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    if not _HEADER.size <= header <= _LONGEST_HEADER or header + size > end - start:
        raise BadImageError(f"the image at {start:#x} has impossible sizes")
    if header > len(data):
        data = source.read(start, header)
    return Image(
        _KINDS.get(kind, ImageKind.OTHER),
        architecture,
        "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else "",
        (major, minor),
        flags,
        _compression(flags, compressed),
        size,
        uncompressed,
        _options(data[:header], options) if options else "",
        start + header,
    )


def _compression(flags: int, compressed_size: int) -> Compression:
    if flags & _LZ4:
        return Compression.LZ4
    if flags & _ZSTD:
        return Compression.ZSTD
    return Compression.OTHER if compressed_size else Compression.NONE


def _options(header: bytes, offset: int) -> str:
    """Return the text whose offset and length stand at a place of the header."""
    if offset + _OPTIONS.size > len(header):
        return ""
    start, length = _OPTIONS.unpack_from(header, offset)
    text = header[start : start + min(length, _LONGEST_OPTIONS)]
    return text.decode("ascii", "replace").strip(" \0")
