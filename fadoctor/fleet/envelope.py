"""What carries a record or a piece of a report through the output of a launcher.

``@fad1 SUM LENGTH PAYLOAD``: the sum is over the payload, whose bytes the length counts. What
stands before the mark (``0: ``, ``host: ``) and behind the payload is not looked at. A payload
holds no ``@``, so a mark within one is another line that was mixed into it.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = b"@fad1 "
LINE_LIMIT = 1_000
"""Longest line with its end: Slurm's srun mixes up lines of more than 1,024 bytes."""
SUM_DIGITS = 12
_HEAD = re.compile(rb"@fad1 ([0-9a-f]{12}) ([0-9]{1,3}) ")
HEAD_LENGTH = len(MARK) + SUM_DIGITS + 1 + 4
"""Bytes before a payload of 100 to 999 bytes."""


class Damaged(NamedTuple):
    """A mark without what it announces: cut, mixed up, or changed on the way."""

    text: bytes
    """What stands there, for a person to look at."""


def seal(payload: bytes) -> bytes:
    """Return the line that carries a payload: of ASCII, without ``@`` and line ends."""
    return MARK + _sum(payload) + b" %d " % len(payload) + payload + b"\n"


def opened(line: bytes) -> Iterator[bytes | Damaged]:
    """Yield every payload of a line, and every mark that carries none."""
    at = line.find(MARK)
    while at >= 0:
        behind = line.find(MARK, at + len(MARK))
        head = _HEAD.match(line, at)
        payload = b"" if head is None else line[head.end() : head.end() + int(head[2])]
        is_whole = head is not None and len(payload) == int(head[2]) and head[1] == _sum(payload)
        yield payload if is_whole else Damaged(line[at : behind if behind > 0 else None])
        at = behind


def _sum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=SUM_DIGITS // 2).hexdigest().encode()
