"""Entropy coding of Zstandard (RFC 8878, section 4): FSE and Huffman tables, and their streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SYMBOLS = 256
_LARGEST_BITS = 11
_WEIGHT_LOG = 6
_DIRECT = 127
_READ = 8
"""Bytes that one read of a bit stream looks at: no field is longer than 56 bits."""


class BackwardBits:
    """A bit stream that is read from its end; the highest bit of the last byte only ends it."""

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise BadBinaryError("a bit stream without an end")
        self._data = data
        self.left = 8 * len(data) - 9 + data[-1].bit_length()
        """Bits that are not read; below 0 where more was read than there is."""

    def peek(self, count: int) -> int:
        """Return the next bits; zeros where the stream is over."""
        place = self.left - count
        if place < 0:
            return self._at(0, max(self.left, 0)) << min(-place, count)
        return self._at(place, count)

    def read(self, count: int) -> int:
        """Return the next bits, and go on after them."""
        value = self.peek(count)
        self.left -= count
        return value

    def _at(self, place: int, count: int) -> int:
        piece = self._data[place >> 3 : (place >> 3) + _READ]
        return int.from_bytes(piece, "little") >> (place & 7) & (1 << count) - 1


class Fse:
    """A table of finite state entropy."""

    def __init__(self, log: int, frequencies: Sequence[int]) -> None:
        self.log = log
        size = 1 << log
        high = size
        symbols = [0] * size
        following = [0] * len(frequencies)
        for symbol, frequency in enumerate(frequencies):
            if frequency < 0:
                high -= 1
                symbols[high] = symbol
            following[symbol] = abs(frequency)
        if sum(following) != size:
            raise BadBinaryError("an FSE table that cannot be")
        self._spread(symbols, frequencies, high)
        self._symbols = symbols
        self._bits, self._base = [0] * size, [0] * size
        for state, symbol in enumerate(symbols):
            turn = following[symbol]
            following[symbol] += 1
            self._bits[state] = log - turn.bit_length() + 1
            self._base[state] = (turn << self._bits[state]) - size

    @staticmethod
    def _spread(symbols: list[int], frequencies: Sequence[int], high: int) -> None:
        size = len(symbols)
        step = (size >> 1) + (size >> 3) + 3
        place = 0
        for symbol, frequency in enumerate(frequencies):
            for _ in range(max(frequency, 0)):
                symbols[place] = symbol
                place = (place + step) & size - 1
                while place >= high:
                    place = (place + step) & size - 1

    @classmethod
    def of_one(cls, symbol: int) -> Fse:
        """Return the table that knows one symbol and takes no bits for it."""
        return cls(0, [*[0] * symbol, 1])

    @classmethod
    def read(cls, data: bytes, largest_log: int) -> tuple[Fse, int]:
        """Return the table that some bytes describe, and how many bytes that are."""
        log = (data[0] & 15) + 5
        if log > largest_log:
            raise BadBinaryError("an FSE table that is too large")
        frequencies: list[int] = []
        place, left = 4, 1 << log
        while left > 0 and len(frequencies) < _SYMBOLS:
            width = (left + 1).bit_length()
            value = _forward(data, place, width)
            place += width
            lower, threshold = (1 << width - 1) - 1, (1 << width) - 2 - left
            if value & lower < threshold:
                value &= lower
                place -= 1
            elif value > lower:
                value -= threshold
            left -= abs(value - 1)
            frequencies.append(value - 1)
            repeat = 3 if value == 1 else 0
            while repeat == 3 and len(frequencies) < _SYMBOLS:
                repeat = _forward(data, place, 2)
                place += 2
                frequencies += [0] * repeat
        return cls(log, frequencies), (place + 7) // 8

    def symbol(self, state: int) -> int:
        """Return what a state stands for."""
        return self._symbols[state]

    def following(self, state: int, bits: BackwardBits) -> int:
        """Return the state after one."""
        return self._base[state] + bits.read(self._bits[state])


def _forward(data: bytes, place: int, count: int) -> int:
    if place + count > 8 * len(data):
        raise BadBinaryError("an FSE table that ends too early")
    piece = int.from_bytes(data[place >> 3 : (place >> 3) + _READ], "little")
    return piece >> (place & 7) & (1 << count) - 1


class Codes(msgspec.Struct, frozen=True):
    """What the symbols of one kind of length stand for."""

    log: int
    largest_log: int
    usual: tuple[int, ...]
    """Frequencies of the table that is not described."""
    base: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()
    """Bits that follow a symbol."""

    def value(self, symbol: int, bits: BackwardBits) -> int:
        """Return what a symbol and the bits after it stand for."""
        return self.base[symbol] + bits.read(self.extra[symbol])


_LITERAL_EXTRA = (*[0] * 16, 1, 1, 1, 1, 2, 2, 3, 3, 4, *range(6, 17))
_MATCH_EXTRA = (*[0] * 32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, *range(7, 17))


def _bases(first: int, extra: Sequence[int]) -> tuple[int, ...]:
    """Return where each symbol begins: where the one before it ends."""
    found, value = [], first
    for bits in extra:
        found.append(value)
        value += 1 << bits
    return tuple(found)


LITERAL_LENGTHS = Codes(
    6, 9,
    (4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
     -1, -1, -1, -1),
    _bases(0, _LITERAL_EXTRA), _LITERAL_EXTRA,
)  # fmt: skip
MATCH_LENGTHS = Codes(
    6, 9,
    (1, 4, 3, 2, 2, 2, 2, 2, 2, *[1] * 37, *[-1] * 7),
    _bases(3, _MATCH_EXTRA), _MATCH_EXTRA,
)  # fmt: skip
OFFSETS = Codes(5, 8, (1, 1, 1, 1, 1, 1, 2, 2, 2, *[1] * 15, *[-1] * 5))


class Huffman:
    """A table of Huffman codes, looked up by the next bits."""

    def __init__(self, weights: Sequence[int]) -> None:
        total = sum(1 << weight >> 1 for weight in weights)
        if not total or len(weights) >= _SYMBOLS:
            raise BadBinaryError("a Huffman table that cannot be")
        self._log = total.bit_length()
        rest = (1 << self._log) - total
        if self._log > _LARGEST_BITS or rest & rest - 1:
            raise BadBinaryError("a Huffman table that cannot be")
        every = [*weights, rest.bit_length()]
        self._table: list[tuple[int, int]] = []
        for weight in range(1, self._log + 1):
            for symbol, own in enumerate(every):
                if own == weight:
                    self._table += [(symbol, self._log + 1 - weight)] * (1 << weight - 1)

    def decode(self, data: bytes, count: int) -> Iterator[int]:
        """Yield the symbols of a stream."""
        bits = BackwardBits(data)
        for _ in range(count):
            symbol, width = self._table[bits.peek(self._log)]
            bits.left -= width
            yield symbol


def read_huffman(data: bytes) -> tuple[Huffman, int]:
    """Return the table that some bytes describe, and how many bytes that are."""
    head = data[0]
    if head > _DIRECT:
        count = head - _DIRECT
        packed = data[1 : 1 + (count + 1) // 2]
        weights = [half for byte in packed for half in (byte >> 4, byte & 15)]
        return Huffman(weights[:count]), 1 + len(packed)
    table, used = Fse.read(data[1 : 1 + head], _WEIGHT_LOG)
    return Huffman(list(_weights(table, data[1 + used : 1 + head]))), 1 + head


def _weights(table: Fse, data: bytes) -> Iterator[int]:
    """Yield what two states in turn stand for, until the bits are over."""
    bits = BackwardBits(data)
    states = [bits.read(table.log), bits.read(table.log)]
    for turn in range(_SYMBOLS):
        state = states[turn % 2]
        yield table.symbol(state)
        states[turn % 2] = table.following(state, bits)
        if bits.left < 0:
            yield table.symbol(states[1 - turn % 2])
            return
