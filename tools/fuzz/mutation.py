"""Damaged copies of inputs: bits and numbers of binaries, words and brackets of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    Mutate = Callable[[bytes, "random.Random", Sequence[bytes]], bytes]

NUMBERS = (0, 1, 2, 7, 8, 15, 16, 63, 64, 255, 0x7FFF, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 62,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
"""Sizes, counts and offsets at which arithmetic goes wrong."""

LONGEST = 1 << 16
"""Bytes of an input; a longer original stays as long as it is."""

_TABLES = 6_000
"""Bytes at the begin of a library that hold its headers, names and symbols."""

WORDS = (
    b"\0", b"\n", b"\r\n", b"\t", b'"', b"'", b'"""', b"\\", b"{", b"}", b"[", b"]", b"[[", b"]]",
    b"=", b"==", b":", b": ", b"- ", b"#", b"@", b";", b",", b"&a ", b"*a", b"<<: *a", b"!!python",
    b"|\n", b">\n", b"---\n", b"...\n", b"%", b"$", b"${X}", b"../", b"/dev/zero", b"~", b"null",
    b"true", b"1e999", b"-1", b"0x1p9999", b"9" * 40, b"1.2.3", b"2.10", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\x80", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xc2\x9b", b"\x1b[2J",
    b"::set-output", b"[" * 400, b"{" * 400, b'{"a":' * 200, b"- " * 300,
    b"(" * 300, b"a." * 300, b"\\ud800", b"\\u0000",
)  # fmt: skip
"""What means something to readers of texts, or to those who are shown them."""


def mutate_bytes(data: bytes, chance: random.Random, pool: Sequence[bytes]) -> bytes:
    """Return data after one to four random changes."""
    changed = bytearray(data or b"\0")
    longest = max(LONGEST, len(data))
    for _ in range(chance.randint(1, 4)):
        at = place(changed, chance)
        match chance.randrange(8):
            case 0 | 1:
                changed[at] ^= 1 << chance.randrange(8)
            case 2 | 3 | 4:
                width = chance.choice((2, 4, 8))
                number = chance.choice(NUMBERS) + chance.choice((0, 0, -1, 1, 8))
                at -= at % width
                changed[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
            case 5:
                del changed[at:]
            case 6:
                size = chance.randrange(1, 257)
                source = chance.choice(pool)
                start = chance.randrange(len(source) or 1)
                changed[at : at + size] = source[start : start + size]
            case _:
                size = chance.randrange(1, 65)
                changed[at:at] = changed[at : at + size]
        changed = changed[:longest] or bytearray(b"\0")
    return bytes(changed)


def mutate_text(data: bytes, chance: random.Random, pool: Sequence[bytes]) -> bytes:
    """Return a text after one to six changes: words put in, lines moved, pieces doubled or lost."""
    changed = bytearray(data or b"\n")
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randrange(len(changed) + 1)
        size = chance.randint(1, 40)
        match chance.randrange(9):
            case 0 | 1:
                changed[at:at] = chance.choice(WORDS)
            case 2:
                word = chance.choice(WORDS)
                changed[at : at + len(word)] = word
            case 3:
                del changed[at : at + size]
            case 4:
                changed[at:at] = changed[at : at + size] * chance.choice((1, 2, 30))
            case 5:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 6:
                source = chance.choice(pool)
                start = chance.randrange(len(source) or 1)
                changed[at:at] = source[start : start + chance.randint(1, 200)]
            case 7:
                changed = _line_moved(changed, chance)
            case _:
                changed = changed[:at] if chance.randrange(4) == 0 else changed
        changed = changed[:LONGEST] or bytearray(b"\n")
    return bytes(changed)


def _line_moved(data: bytearray, chance: random.Random) -> bytearray:
    """Return a text with one line somewhere else, or indented otherwise."""
    lines = data.split(b"\n")
    line = lines.pop(chance.randrange(len(lines)))
    if chance.randrange(2):
        line = bytearray(b" " * chance.randrange(9)) + line.lstrip()
    lines.insert(chance.randrange(len(lines) + 1), line)
    return bytearray().join([lines[0], *(b"\n" + each for each in lines[1:])])


def place(data: bytearray, chance: random.Random) -> int:
    """Return where to change something: mostly where something stands, and tables come first."""
    end = min(len(data), _TABLES) if chance.randrange(2) else len(data)
    at = chance.randrange(end)
    for _ in range(8):
        if data[at]:
            break
        at = chance.randrange(end)
    return at
