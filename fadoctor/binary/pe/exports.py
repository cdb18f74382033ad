"""What a PE file gives to others: symbols by name and by number.

Microsoft, "PE Format", "The .edata Section": a directory of 40 bytes, a table of addresses (u32), a
table of addresses of names (u32), which is sorted, and one of indexes (u16).
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.pe.image import PeImage

MAX_EXPORTS = 1 << 16
"""Indexes have 16 bits."""
_DIRECTORY = struct.Struct("<IIHHIIIIIII")


class Exports:
    """The symbols of one file. A look-up reads some sixteen names, as that of Windows does."""

    def __init__(self, image: PeImage) -> None:
        """Read the directory; a file without one exports nothing."""
        self._image = image
        self._start, self._size = image.directory(0)
        self.library = ""
        """The name that the file gives to itself."""
        self._base = self._functions = self._names = 0
        self._tables = (0, 0, 0)
        if self._start:
            row = _DIRECTORY.unpack(image.read(self._start, _DIRECTORY.size))
            *_, name, self._base, self._functions, self._names, functions, names, indexes = row
            if max(self._functions, self._names) > MAX_EXPORTS:
                raise BadBinaryError(f"it exports more than {MAX_EXPORTS} symbols")
            self._tables = (functions, names, indexes)
            self.library = image.text(name) if name else ""

    def __len__(self) -> int:
        """Return the number of names."""
        return self._names

    def has(self, name: str) -> bool:
        """Whether a symbol of that name is there."""
        low, high = 0, self._names
        wanted = name.encode("latin-1", "replace")
        while low < high:
            middle = (low + high) // 2
            found = self._image.text(self._pointers[middle]).encode("latin-1")
            if found == wanted:
                return True
            low, high = (middle + 1, high) if found < wanted else (low, middle)
        return False

    def has_ordinal(self, number: int) -> bool:
        """Whether a symbol of that number is there."""
        index = number - self._base
        return 0 <= index < self._functions and bool(self._addresses[index])

    def names(self) -> Iterator[str]:
        """Yield all names, in order."""
        for pointer in self._pointers:
            yield self._image.text(pointer)

    def forwarder(self, index: int) -> str:
        """Return where the symbol of an index is really: ``NTDLL.RtlMoveMemory``; else ""."""
        address = self._addresses[index] if index < len(self._addresses) else 0
        inside = self._start <= address < self._start + self._size
        return self._image.text(address) if inside else ""

    def ordinals(self) -> Iterator[tuple[int, str]]:
        """Yield number and name of every symbol; without a name, ""."""
        named = dict(zip(self._indexes, self.names(), strict=True))
        for index, address in enumerate(self._addresses):
            if address:
                yield self._base + index, named.get(index, "")

    @cached_property
    def _addresses(self) -> tuple[int, ...]:
        return self._words(self._tables[0], self._functions, "I")

    @cached_property
    def _pointers(self) -> tuple[int, ...]:
        return self._words(self._tables[1], self._names, "I")

    @cached_property
    def _indexes(self) -> tuple[int, ...]:
        return self._words(self._tables[2], self._names, "H")

    def _words(self, address: int, count: int, layout: str) -> tuple[int, ...]:
        if not count:
            return ()
        table = struct.Struct(f"<{count}{layout}")
        return table.unpack(self._image.read(address, table.size))
