"""An open file that is read in bounded pieces, and that fails in one way."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError
from fadoctor.model.files import NotRegularError, open_file

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from pathlib import Path

WINDOW = 1 << 18
"""Bytes that a search reads at once: fits the cache of a core."""
SIZE_LIMIT = 8 << 30
"""Larger files are refused; the largest library in a wheel is near 1 GB."""
_FIRST_WINDOW = 1 << 12


class BinarySource:
    """A regular file. Not mapped: a map of a file that shrinks ends the whole process."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file = file
        self.size = size

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly `size` bytes; the caller bounds the size, never a number of the file."""
        if not 0 <= offset <= self.size - size:
            raise BadBinaryError(f"truncated: nothing at {offset:#x}, the file has {self.size}")
        try:
            self._file.seek(offset)
            data = self._file.read(size)
        except OSError as error:
            raise BadBinaryError(f"cannot be read: {error.strerror}") from error
        if len(data) < size:
            raise BadBinaryError(f"it shrank while it was read, at {offset:#x}")
        return data

    def find_all(self, pattern: bytes, start: int, end: int) -> Iterator[int]:
        """Yield every place of a pattern from `start` to `end`, ascending."""
        while end - start >= len(pattern):
            window = self.read(start, min(WINDOW, end - start))
            at = window.find(pattern)
            while at >= 0:
                yield start + at
                at = window.find(pattern, at + 1)
            start += max(len(window) - len(pattern) + 1, 1)

    def find(self, pattern: bytes, start: int, end: int) -> int:
        """Return the first place of a pattern from `start` to `end`, -1 where there is none.

        The windows start small: the next place is often near.
        """
        width = _FIRST_WINDOW
        while end - start >= len(pattern):
            window = self.read(start, min(width, end - start))
            at = window.find(pattern)
            if at >= 0:
                return start + at
            start += max(len(window) - len(pattern) + 1, 1)
            width = min(width * 4, WINDOW)
        return -1

    def expect_jumps(self) -> None:
        """Tell the system that small pieces far apart come next: reading ahead is wasted."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)


@contextmanager
def open_source(path: str | Path) -> Iterator[BinarySource]:
    """Open a regular file; anything else, and one that cannot be opened, is a BadBinaryError."""
    try:
        file = os.fdopen(open_file(path), "rb", 0)
    except NotRegularError as error:
        raise BadBinaryError("not a regular file") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadBinaryError(f"cannot be opened: {reason}") from error
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > SIZE_LIMIT:
            raise BadBinaryError(f"larger than {SIZE_LIMIT >> 30} GiB")
        yield BinarySource(file, size)
