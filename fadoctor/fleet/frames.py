"""Full reports through standard output: pieces of at most 1,000 bytes, each with its checksum.

The payload of a piece is ``NODE|+ID NUMBER/COUNT BASE64``: the report, compressed, cut. The id is a
digest of the whole, so that only pieces of one report are put together, and all of them.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.fleet.envelope import HEAD_LENGTH, LINE_LIMIT, seal
from fadoctor.fleet.identity import NodeIdentity
from fadoctor.fleet.record import SEPARATOR
from fadoctor.model.typed import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENT_LIMIT = 32 << 20
"""Longest report, in bytes: what is compressed can claim any size."""
KEPT_LIMIT = 256 << 20
"""Bytes of pieces that wait for the others; beyond it the oldest report is given up."""
_MOST_PIECES = 20_000
_PIECE_COST = 512
"""Bytes that a piece costs beside its text, also an empty one."""
_PIECE = re.compile(rb"\+([0-9a-f]{16}) ([0-9]{1,5})/([0-9]{1,5}) ([A-Za-z0-9+/=]*)")


def frames_of(node: NodeIdentity, document: bytes) -> Iterator[bytes]:
    """Yield the lines that carry a document."""
    packed = zlib.compress(document, 9)
    text = base64.b64encode(packed)
    name = _id(packed)
    who = encode(NodeIdentity(node.n, r=node.r, u=node.u))
    room = LINE_LIMIT - HEAD_LENGTH - 1 - len(who) - len(SEPARATOR) - len(b"+ 00000/00000 ") - 16
    pieces = [text[at : at + room] for at in range(0, len(text), room)]
    for number, piece in enumerate(pieces, 1):
        head = f"+{name} {number}/{len(pieces)} ".encode()
        yield seal(who + SEPARATOR + head + piece)


class Whole(NamedTuple):
    """A report that is there again."""

    document: bytes


class BrokenFrames(NamedTuple):
    """A report of which pieces are missing, or that is none."""

    node: str
    problem: str


class _Waiting:
    """The pieces of one report so far."""

    def __init__(self, node: str, count: int) -> None:
        self.node, self.count, self.size = node, count, 0
        self.pieces: dict[int, bytes] = {}


class Assembly:
    """Puts pieces together, in whatever order and however often they come."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._waiting: dict[bytes, _Waiting] = {}
        self._done: set[bytes] = set()
        self._kept = 0

    def add(self, node: str, body: bytes) -> Whole | BrokenFrames | None:
        """Take a piece; return what becomes of it where something does."""
        match = _PIECE.fullmatch(body)
        if match is None:
            return BrokenFrames(node, "a piece of a report cannot be understood")
        name, number, count, text = match[1], int(match[2]), int(match[3]), match[4]
        if name in self._done:
            return None
        waiting = self._waiting.get(name) or _Waiting(node, count)
        if not (1 <= number <= count <= _MOST_PIECES) or waiting.count != count:
            return BrokenFrames(node, "pieces of a report contradict each other")
        self._waiting[name] = waiting
        if number not in waiting.pieces:
            waiting.pieces[number] = text
            waiting.size += len(text) + _PIECE_COST
            self._kept += len(text) + _PIECE_COST
        if len(waiting.pieces) == count:
            self._drop(name)
            self._done.add(name)
            return _joined(name, waiting)
        return self._relieved() if self._kept > KEPT_LIMIT else None

    def rest(self) -> Iterator[BrokenFrames]:
        """Yield the reports that never became whole."""
        for waiting in self._waiting.values():
            missing = waiting.count - len(waiting.pieces)
            told = f"{missing} of {waiting.count} pieces of its report are missing or damaged"
            yield BrokenFrames(waiting.node, told)

    def _relieved(self) -> BrokenFrames:
        name = next(iter(self._waiting))
        node = self._waiting[name].node
        self._drop(name)
        return BrokenFrames(node, "too many pieces of reports are incomplete")

    def _drop(self, name: bytes) -> None:
        self._kept -= self._waiting.pop(name).size


def _joined(name: bytes, waiting: _Waiting) -> Whole | BrokenFrames:
    text = b"".join(waiting.pieces[number] for number in range(1, waiting.count + 1))
    try:
        packed = base64.b64decode(text, validate=True)
        if _id(packed).encode() != name:
            return BrokenFrames(waiting.node, "the pieces of its report do not belong together")
        unpacking = zlib.decompressobj()
        document = unpacking.decompress(packed, DOCUMENT_LIMIT)
    except (ValueError, zlib.error):
        return BrokenFrames(waiting.node, "its report cannot be unpacked")
    if not unpacking.eof:
        return BrokenFrames(waiting.node, "its report is too large")
    return Whole(document)


def _id(packed: bytes) -> str:
    return hashlib.blake2b(packed, digest_size=8).hexdigest()
