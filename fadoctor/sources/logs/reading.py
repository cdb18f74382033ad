"""Read a log as a stream of UTF-8 blocks, whatever its encoding and length."""

from __future__ import annotations

import codecs
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 20
"""Bytes that are read at once."""

_SAMPLE = 4_096
_NULS_OF_UTF16 = 0.3
"""Part of the bytes that are NUL in UTF-16 text of mostly ASCII: nearly every second one."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Readable(Protocol):
    """A binary stream."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


def read_blocks(stream: Readable) -> Iterator[bytes]:
    """Yield a log in blocks of whole lines; a line longer than a block comes in pieces.

    UTF-16, which Windows PowerShell writes, becomes UTF-8; other bytes stay as they are.
    """
    rest = b""
    for block in _as_utf8(stream):
        block = rest + block if rest else block  # noqa: PLW2901 -- a second name would keep both
        cut = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        if cut == 0 and len(block) >= BLOCK:
            cut = len(block)
        rest = block[cut:]
        if cut:
            block = block[:cut]  # noqa: PLW2901
            yield block
    if rest:
        yield rest


def _as_utf8(stream: Readable) -> Iterator[bytes]:
    first = stream.read(BLOCK)
    mark, encoding = _encoding(first)
    first = first[len(mark) :]
    if not encoding.startswith("utf-16"):
        yield first
        del first
        # No name here for a piece: it would be kept while what it is made into is read.
        yield from iter(partial(stream.read, BLOCK), b"")
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    while piece := stream.read(BLOCK):
        yield decoder.decode(piece).encode("utf-8", "replace")


def _encoding(first: bytes) -> tuple[bytes, str]:
    """Return the byte order mark and the encoding; without a mark, UTF-16 shows by its NULs."""
    for mark, encoding in _BOMS:
        if first.startswith(mark):
            return mark, encoding
    low, high = first[1:_SAMPLE:2], first[:_SAMPLE:2]
    if len(low) > 1 and low.count(0) > _NULS_OF_UTF16 * 2 * len(low) > high.count(0):
        return b"", "utf-16-le"
    if len(low) > 1 and high.count(0) > _NULS_OF_UTF16 * 2 * len(high) > low.count(0):
        return b"", "utf-16-be"
    return b"", "utf-8"
