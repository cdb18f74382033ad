"""A stream that is read line by line, or to the end of a report that is written over many lines."""

from __future__ import annotations

from typing import BinaryIO

from fadoctor.fleet.frames import DOCUMENT_LIMIT

_END = b"\n}\n"
_CHUNK = 1 << 18


class LineSource:
    """Lines of a stream; what was read ahead in vain is given out line by line."""

    def __init__(self, stream: BinaryIO) -> None:
        """Take the stream, at any place."""
        self._stream = stream
        self._ahead, self._at = b"", 0
        self._in_vain = False
        """Whether no report ends in what was read ahead."""

    def line(self) -> bytes:
        """Return the next line with its end, nothing at the end of the stream."""
        if not self._ahead:
            return self._stream.readline(DOCUMENT_LIMIT)
        end = self._ahead.find(b"\n", self._at) + 1
        if end:
            line = self._ahead[self._at : end]
            self._at = end
            if end == len(self._ahead):
                self._forget()
            return line
        start = self._ahead[self._at :]
        self._forget()
        return start + self._stream.readline(DOCUMENT_LIMIT)

    def rest_of_report(self) -> bytes:
        """Return what follows up to a line that is ``}``; nothing where none does."""
        if self._in_vain:
            return b""
        # A line before it, so that the first one can be the last.
        text = bytearray(b"\n" + self._ahead[self._at :])
        looked = 0
        while (end := text.find(_END, looked)) < 0:
            looked = max(len(text) - len(_END), 0)
            chunk = self._stream.read(_CHUNK) if len(text) < DOCUMENT_LIMIT else b""
            if not chunk:
                break
            text += chunk
        if end < 0 and text.endswith(_END[:-1]):
            end = len(text) - len(_END) + 1
        size = end + len(_END) if end >= 0 else 1
        self._ahead, self._at = bytes(text[size:]), 0
        self._in_vain = end < 0 and bool(self._ahead)
        return bytes(text[1:size])

    def put_back(self, text: bytes) -> None:
        """Take back what was no report, and give it out line by line."""
        self._ahead, self._at = text + self._ahead[self._at :], 0
        self._in_vain = True

    def _forget(self) -> None:
        self._ahead, self._at, self._in_vain = b"", 0, False
