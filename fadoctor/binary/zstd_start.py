"""The first bytes of a Zstandard frame (RFC 8878), where a header begins what is compressed.

Python has no such decoder before 3.14. One block is decoded, of at most 128 KiB, and of that only
as much as is wanted.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.zstd_tables import (
    LITERAL_LENGTHS,
    MATCH_LENGTHS,
    OFFSETS,
    BackwardBits,
    Fse,
    read_huffman,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.zstd_tables import Codes, Huffman

MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK_LIMIT = 1 << 17
HEADER_LIMIT = 18
"""Bytes of the longest frame header, magic included."""
_RAW, _RLE, _COMPRESSED = 0, 1, 2
_PREDEFINED, _ONE, _DESCRIBED = 0, 1, 2
_SEQUENCE_LIMIT = 1 << 16


def first_bytes(frame: bytes, wanted: int) -> bytes:
    """Return at most `wanted` bytes of what a frame holds, those of its first block.

    `frame` is its beginning; BLOCK_LIMIT and HEADER_LIMIT say how much suffices. Raises
    BadBinaryError for what is no frame.
    """
    try:
        kind, block = _first_block(frame)
        if kind == _RAW:
            return block[:wanted]
        if kind == _RLE:
            return block[:1] * wanted
        return _decoded(block, min(wanted, BLOCK_LIMIT))
    except (IndexError, ValueError) as error:
        raise BadBinaryError(f"not a Zstandard frame: {type(error).__name__}") from error


def _first_block(frame: bytes) -> tuple[int, bytes]:
    """Return kind and content of the first block."""
    if frame[:4] != MAGIC:
        raise BadBinaryError("no Zstandard frame where there should be one")
    descriptor = frame[4]
    single = bool(descriptor & 0x20)
    sizes = (1 if single else 0, 2, 4, 8)
    start = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + sizes[descriptor >> 6]
    if start + 3 > len(frame):
        raise BadBinaryError("truncated: a Zstandard frame without a block")
    header = int.from_bytes(frame[start : start + 3], "little")
    kind, size = header >> 1 & 3, header >> 3
    if size > BLOCK_LIMIT or kind > _COMPRESSED:
        raise BadBinaryError("a Zstandard block that cannot be")
    return kind, frame[start + 3 : start + 3 + (1 if kind == _RLE else size)]


def _decoded(block: bytes, wanted: int) -> bytes:
    """Return what a compressed block begins with."""
    literals = _Literals(block)
    out = bytearray()
    history = [1, 4, 8]
    for length, match, offset in _sequences(block[literals.end :]):
        out += literals.take(length, wanted - len(out))
        if len(out) >= wanted:
            break
        distance = _distance(offset, length, history)
        if not 0 < distance <= len(out):
            raise BadBinaryError("a Zstandard match from before the frame")
        for _ in range(min(match, wanted - len(out))):
            out.append(out[-distance])
    return bytes(out + literals.take(wanted - len(out), wanted))


def _distance(value: int, literals: int, history: list[int]) -> int:
    """Return how far back a match is, and remember it: values up to 3 are earlier distances."""
    if value > len(history):
        distance = value - len(history)
        history[:] = [distance, *history[:2]]
        return distance
    place = value - 1 + (literals == 0)
    distance = history[place] if place < len(history) else history[0] - 1
    if place:
        history[:] = [distance, *(history[:2] if place > 1 else (history[0], history[2]))]
    return distance


class _Literals:
    """The literals of a block, decoded as far as they are taken."""

    def __init__(self, block: bytes) -> None:
        kind, form = block[0] & 3, block[0] >> 2 & 3
        if kind in (_RAW, _RLE):
            width, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[form]
            size = int.from_bytes(block[:width], "little") >> shift
            stored = size if kind == _RAW else 1
            body = block[width : width + stored]
            self._source = iter(body if kind == _RAW else body * size)
            self.end = width + stored
            return
        if kind != _COMPRESSED:
            raise BadBinaryError("Zstandard literals without their table")
        width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        header = int.from_bytes(block[:width], "little") >> 4
        size, stored = header & (1 << bits) - 1, header >> bits
        body = block[width : width + stored]
        huffman, used = read_huffman(body)
        self._source = _coded(body[used:], huffman, size, four=form > 0)
        self.end = width + stored

    def take(self, count: int, limit: int) -> bytes:
        """Return the next literals, at most a limit of them."""
        return bytes(islice(self._source, min(count, limit)))


def _coded(body: bytes, huffman: Huffman, size: int, *, four: bool) -> Iterator[int]:
    """Yield literals from one stream or from four, of which the first three are equally long."""
    if not four:
        yield from huffman.decode(body, size)
        return
    quarter = (size + 3) // 4
    sizes = [int.from_bytes(body[at : at + 2], "little") for at in (0, 2, 4)]
    place = 6
    for stored in sizes:
        yield from huffman.decode(body[place : place + stored], quarter)
        place += stored
    yield from huffman.decode(body[place:], size - 3 * quarter)


def _sequences(section: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield length of literals, length of the match, and offset value of each sequence."""
    count, place = _count(section)
    if not count:
        return
    modes = section[place]
    place += 1
    tables = []
    for codes, shift in ((LITERAL_LENGTHS, 6), (OFFSETS, 4), (MATCH_LENGTHS, 2)):
        table, used = _table(section[place:], modes >> shift & 3, codes)
        tables.append(table)
        place += used
    literals, offsets, matches = tables
    bits = BackwardBits(section[place:])
    states = [bits.read(table.log) for table in tables]
    for index in range(min(count, _SEQUENCE_LIMIT)):
        code = offsets.symbol(states[1])
        offset = (1 << code) + bits.read(code)
        match = MATCH_LENGTHS.value(matches.symbol(states[2]), bits)
        length = LITERAL_LENGTHS.value(literals.symbol(states[0]), bits)
        yield length, match, offset
        if index + 1 < count:
            states[0] = literals.following(states[0], bits)
            states[2] = matches.following(states[2], bits)
            states[1] = offsets.following(states[1], bits)


def _count(section: bytes) -> tuple[int, int]:
    """Return the number of sequences, and how many bytes it takes."""
    first = section[0]
    if first < 0x80:
        return first, 1
    if first < 0xFF:
        return (first - 0x80 << 8) + section[1], 2
    return int.from_bytes(section[1:3], "little") + 0x7F00, 3


def _table(section: bytes, mode: int, codes: Codes) -> tuple[Fse, int]:
    if mode == _PREDEFINED:
        return Fse(codes.log, codes.usual), 0
    if mode == _ONE:
        return Fse.of_one(section[0]), 1
    if mode == _DESCRIBED:
        return Fse.read(section, codes.largest_log)
    raise BadBinaryError("a Zstandard table of a block that there was not")
