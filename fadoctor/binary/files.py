"""Files below a root, read in bounded pieces that a file which shrinks or lies cannot turn deadly.

Nothing is mapped: a mapped file that shrinks ends the process that reads it (SIGBUS).
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

BLOCK = 4096
_MAX_BLOCKS = 6144
"""Blocks that are kept, of all files together: 24 MiB."""
_MAX_READ = 16 << 20
"""The most bytes that one read may ask for."""
_MAX_LINKS = 40
_MAX_PATH = 4096


class BlockCache:
    """Blocks of files; emptied when it is full, for what is asked twice is asked soon."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, int], bytes] = {}

    def put(self, key: tuple[int, int], block: bytes) -> None:
        """Keep a block."""
        if len(self.blocks) >= _MAX_BLOCKS:
            self.blocks.clear()
        self.blocks[key] = block


class Reader:
    """A regular file that is open for reading at any offset."""

    def __init__(self, descriptor: int, cache: BlockCache) -> None:
        status = os.fstat(descriptor)
        self.descriptor = descriptor
        self.size = status.st_size
        self.identity = (status.st_dev, status.st_ino)
        self._blocks = cache.blocks
        self._put = cache.put

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly `size` bytes; BadBinaryError where they are not in the file."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise BadBinaryError(f"{size} bytes at {offset:#x} lie outside of the file")
        number, start = offset // BLOCK, offset % BLOCK
        if start + size <= BLOCK:
            block = self._blocks.get((self.descriptor, number))
            return (block or self._fetch(number))[start : start + size]
        if size > _MAX_READ:
            raise BadBinaryError(f"a table of {size} bytes is too large")
        data = os.pread(self.descriptor, size, offset)
        if len(data) != size:
            raise BadBinaryError("the file became shorter while it was read")
        return data

    def read_up_to(self, offset: int, size: int) -> bytes:
        """Return `size` bytes, or less at the end of the file."""
        return self.read(offset, max(0, min(size, self.size - offset)))

    def text(self, offset: int, limit: int) -> bytes:
        """Return the bytes before the next NUL, which must come within `limit` bytes."""
        if 0 <= offset < self.size:
            number, start = offset // BLOCK, offset % BLOCK
            block = self._blocks.get((self.descriptor, number)) or self._fetch(number)
            end = block.find(b"\0", start, start + limit)
            if end >= 0:
                return block[start:end]
        data = self.read_up_to(offset, limit)
        end = data.find(b"\0")
        if end < 0:
            raise BadBinaryError(f"the text at {offset:#x} does not end")
        return data[:end]

    def _fetch(self, number: int) -> bytes:
        wanted = min(BLOCK, self.size - number * BLOCK)
        block = os.pread(self.descriptor, wanted, number * BLOCK)
        if len(block) != wanted:
            raise BadBinaryError("the file became shorter while it was read")
        self._put((self.descriptor, number), block)
        return block


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
        raise OSError(code, os.strerror(code))


class Tree:
    """A file system below a root, as a process that is rooted there sees it. Paths are absolute."""

    def __init__(self, root: str = "/") -> None:
        self._root = root.rstrip("/")
        self._cache = BlockCache()
        self._open: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every file."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()
        self._cache.blocks.clear()

    def open(self, path: str) -> Reader:
        """Open a regular file; OSError where that cannot be."""
        # Not blocking: a pipe by that name would wait for its other end for ever.
        descriptor = os.open(self._host(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _require_regular(os.fstat(descriptor).st_mode)
            reader = Reader(descriptor, self._cache)
        except OSError:
            os.close(descriptor)
            raise
        self._open.append(descriptor)
        return reader

    def read(self, path: str, limit: int) -> bytes:
        """Return the first `limit` bytes of a regular file, b"" where it cannot be read."""
        try:
            reader = self.open(path)
        except (OSError, ValueError):
            return b""
        self._open.remove(reader.descriptor)
        try:
            return os.pread(reader.descriptor, limit, 0)
        except OSError:
            return b""
        finally:
            os.close(reader.descriptor)

    def names(self, folder: str, limit: int = 20_000) -> list[str]:
        """Return the sorted names in a folder; none where it cannot be listed."""
        names = []
        try:
            with os.scandir(self._host(folder)) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) >= limit:
                        break
        except (OSError, ValueError):
            return []
        return sorted(names)

    def is_folder(self, path: str) -> bool:
        """Whether that is a folder."""
        try:
            return stat.S_ISDIR(os.stat(self._host(path)).st_mode)  # noqa: PTH116 -- a str is at hand
        except (OSError, ValueError):
            return False

    def resolve(self, path: str) -> str:
        """Return the path without links, as seen below the root; OSError where it loops."""
        done: list[str] = []
        rest = [part for part in reversed(path.split("/")) if part]
        links = 0
        while rest:
            part = rest.pop()
            if part == "..":
                del done[-1:]
            elif part != ".":
                target = self._link("/".join((self._root, *done, part)))
                if target is None:
                    done.append(part)
                    continue
                links += 1
                if links > _MAX_LINKS or len(target) > _MAX_PATH:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if target.startswith("/"):
                    done = []
                rest += [piece for piece in reversed(target.split("/")) if piece]
        return "/" + "/".join(done)

    def real(self, path: str) -> str:
        """Return the path without links, or as it is where they loop."""
        try:
            return self.resolve(path)
        except OSError:
            return path

    def _link(self, host: str) -> str | None:
        try:
            return os.readlink(host)  # noqa: PTH115 -- a str is at hand
        except OSError:
            return None

    def _host(self, path: str) -> str:
        """Return the path that we open; links in a foreign tree must not lead out of it."""
        if len(path) > _MAX_PATH or "\0" in path:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        if not self._root:
            return path
        return self._root + self.resolve(posixpath.join("/", path))
