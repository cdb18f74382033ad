"""Read single members of a wheel through byte ranges."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING

from tools.refresh.errors import WheelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.refresh.transport import Transport

BYTE_LIMIT = 48 << 20
"""Bytes that are fetched of one wheel."""
REQUEST_LIMIT = 100
DIRECTORY_LIMIT = 8 << 20
MEMBER_LIMIT = 128 << 20
"""Bytes of one member, unpacked."""
TEXT_LIMIT = 4 << 20

_AHEAD = 64 << 10
_PIECE = 2 << 20
_BROKEN = (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error)
"""What `zipfile` raises for a directory that is none."""
_DEFLATED, _STORED = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED


class RemoteFile(io.RawIOBase):
    """A file of which only the ranges that are read are fetched."""

    def __init__(self, transport: Transport, url: str) -> None:
        super().__init__()
        self.url = url
        self._transport = transport
        self._position = 0
        self._fetched = self._requests = 0
        self.size = -1
        tail = self._fetch(-1, _AHEAD)
        self.size = tail[2]
        self._held = [tail[:2], tail[:2]]
        """The end, which holds the directory of most wheels, and the range that was read last."""

    def _fetch(self, start: int, length: int) -> tuple[int, bytes, int]:
        self._requests += 1
        self._fetched += length
        if self._requests > REQUEST_LIMIT or self._fetched > BYTE_LIMIT:
            raise WheelError(f"{self.url}: would take more than {BYTE_LIMIT >> 20} MiB")
        answer = self._transport.part(self.url, start, length)
        if self.size not in {-1, answer.total}:
            raise WheelError(f"{self.url}: changed its size")
        begin = start if start >= 0 else answer.total - len(answer.body)
        return begin, answer.body, answer.total

    def at(self, start: int, length: int) -> bytes:
        """Return ``length`` bytes from ``start``, less at the end of the file."""
        length = min(length, self.size - start)
        if start < 0 or length <= 0:
            return b""
        for begin, body in self._held:
            if begin <= start and start + length <= begin + len(body):
                return body[start - begin : start - begin + length]
        ahead = min(max(length, _AHEAD), self.size - start)
        self._held[1] = self._fetch(start, ahead)[:2]
        return self._held[1][1][:length]

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError("before the start of the file")
        self._position = base + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position on; WheelError where that is more than a directory."""
        length = min(size if size >= 0 else self.size, self.size - self._position)
        if length > DIRECTORY_LIMIT:
            raise WheelError(
                f"{self.url}: its directory is larger than {DIRECTORY_LIMIT >> 20} MiB"
            )
        data = self.at(self._position, length)
        self._position += len(data)
        return data


class Wheel:
    """The members of one wheel. Nothing is ever written under a member's name."""

    def __init__(self, transport: Transport, url: str) -> None:
        self._file = RemoteFile(transport, url)
        try:
            entries = zipfile.ZipFile(self._file).infolist()
        except _BROKEN as error:
            raise WheelError(f"{url}: not a wheel: {type(error).__name__}") from error
        self._entries = {entry.filename: entry for entry in entries}

    @property
    def names(self) -> dict[str, int]:
        """Names of the members, and how many bytes they are packed."""
        return {name: entry.compress_size for name, entry in self._entries.items()}

    def chunks(self, name: str, limit: int = MEMBER_LIMIT) -> Iterator[bytes]:
        """Yield a member piece by piece; WheelError where it is missing, broken or a bomb."""
        entry = self._entries.get(name)
        if entry is None:
            raise WheelError(f"{self._file.url}: no {name}")
        if entry.compress_type not in {_STORED, _DEFLATED} or entry.flag_bits & 1:
            raise WheelError(f"{self._file.url}: {name} is packed in another way than wheels are")
        inflate = zlib.decompressobj(-15) if entry.compress_type == _DEFLATED else None
        produced = checksum = 0
        for piece in self._packed(entry):
            try:
                chunk = inflate.decompress(piece, limit - produced + 1) if inflate else piece
            except zlib.error as error:
                raise WheelError(f"{self._file.url}: {name} is broken") from error
            produced += len(chunk)
            checksum = zlib.crc32(chunk, checksum)
            if produced > limit:
                raise WheelError(f"{self._file.url}: {name} is larger than {limit} bytes")
            yield chunk
        if (produced, checksum) != (entry.file_size, entry.CRC):
            raise WheelError(f"{self._file.url}: {name} is not what the directory says")

    def _packed(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        # A local header: 30 bytes, little-endian, at 26 the lengths of name and extra field.
        header = self._file.at(entry.header_offset, 30)
        if len(header) < 30 or header[:4] != b"PK\3\4":
            raise WheelError(f"{self._file.url}: no member where the directory says")
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        start = entry.header_offset + 30 + name_length + extra_length
        end = start + entry.compress_size
        for offset in range(start, end, _PIECE):
            piece = self._file.at(offset, min(_PIECE, end - offset))
            if not piece:
                raise WheelError(f"{self._file.url}: ends too early")
            yield piece

    def text(self, name: str) -> str:
        """Return a small member as text."""
        return b"".join(self.chunks(name, TEXT_LIMIT)).decode("utf-8", "replace")
