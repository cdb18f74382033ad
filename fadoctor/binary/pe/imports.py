"""What a PE file wants of other files when it is loaded, and what it wants later.

Microsoft, "PE Format": "The .idata Section", "Delay-Load Import Tables". Little-endian; an entry of
the table is 20 bytes, one of the delayed table 32; a thunk is as wide as a pointer.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.pe.image import PeImage

MAX_LIBRARIES = 1000
MAX_IMPORTS = 1 << 17
_IMPORT, _DELAY = 1, 13
_ENTRY = struct.Struct("<IIIII")  # names, time, forwarder, name of the library, addresses
_DELAYED = struct.Struct("<8I")  # flags, name, handle, addresses, names, bound, unload, time
_THUNKS = 512
_ORDINAL = 0xFFFF


class ImportedLibrary(msgspec.Struct, frozen=True):
    """What is wanted of one library."""

    library: str
    """Its name as it is written: KERNEL32.dll."""
    names: tuple[str, ...]
    """Symbols by name, in order."""
    ordinals: tuple[int, ...] = ()
    """Symbols by number."""
    is_delayed: bool = False
    """Looked for at the first call: loading does without it."""


def read_imports(image: PeImage) -> tuple[ImportedLibrary, ...]:
    """Return what a file wants: what it is loaded with first, then what is delayed."""
    reader = _Thunks(image)
    at_once = [reader.imported(*row) for row in _at_once(image)]
    return (*at_once, *(reader.imported(*row) for row in _delayed(image)))


def read_libraries(image: PeImage) -> tuple[str, ...]:
    """Return the libraries that a file is loaded with, without their symbols."""
    return tuple(image.text(library) for library, _, _ in _at_once(image))


Row = tuple[int, int, bool]
"""Address of the library's name and of the thunks, and whether it is delayed."""


def _at_once(image: PeImage) -> Iterator[Row]:
    start, _ = image.directory(_IMPORT)
    for number in range(MAX_LIBRARIES + 1 if start else 0):
        row = _ENTRY.unpack(image.read(start + number * _ENTRY.size, _ENTRY.size))
        names, _, _, library, addresses = row
        if not (library and addresses):
            return
        if number == MAX_LIBRARIES:
            raise BadBinaryError(f"it imports from more than {MAX_LIBRARIES} libraries")
        yield library, names or addresses, False


def _delayed(image: PeImage) -> Iterator[Row]:
    start, _ = image.directory(_DELAY)
    for number in range(MAX_LIBRARIES + 1 if start else 0):
        row = _DELAYED.unpack(image.read(start + number * _DELAYED.size, _DELAYED.size))
        flags, library, _, _, names, *_ = row
        if not library:
            return
        if number == MAX_LIBRARIES:
            raise BadBinaryError(f"it delays imports from more than {MAX_LIBRARIES} libraries")
        # Compilers before Visual C++ 7 wrote absolute addresses.
        base = 0 if flags & 1 else image.header.base
        yield library - base, names - base, True


class _Thunks:
    """Reads the thunks of one file, and refuses to read too many."""

    def __init__(self, image: PeImage) -> None:
        self._image = image
        self._width = 8 if image.header.is_64_bit else 4
        self._by_number = 1 << (8 * self._width - 1)
        self._left = MAX_IMPORTS

    def imported(self, library: int, thunks: int, is_delayed: bool) -> ImportedLibrary:  # noqa: FBT001 -- a row of a table
        """Return what is wanted of a library."""
        names: list[str] = []
        ordinals: list[int] = []
        for value in self._values(thunks):
            if value & self._by_number:
                ordinals.append(value & _ORDINAL)
            else:
                # A hint of two bytes, then the name.
                names.append(self._image.text((value & 0x7FFFFFFF) + 2))
        return ImportedLibrary(self._image.text(library), tuple(names), tuple(ordinals), is_delayed)

    def _values(self, start: int) -> Iterator[int]:
        layout = struct.Struct("<Q" if self._width == 8 else "<I")
        while True:
            piece = self._piece(start)
            for (value,) in layout.iter_unpack(piece):
                if not value:
                    return
                self._left -= 1
                if self._left < 0:
                    raise BadBinaryError(f"it imports more than {MAX_IMPORTS} symbols")
                yield value
            start += len(piece)

    def _piece(self, start: int) -> bytes:
        """Return some thunks; they end where their section does, at the latest."""
        size = min(_THUNKS * self._width, self._image.room(start))
        return self._image.read(start, max(size - size % self._width, self._width))
