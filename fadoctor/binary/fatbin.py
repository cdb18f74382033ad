"""GPU code in a compiled file: the fatbin containers, and the images in them.

A container is 8-aligned: u32 magic, u16 version, u16 header size (16), u64 size of the images that
follow without gap, little-endian. Which of them count, the wrappers say (`registration`).
"""

from __future__ import annotations

import re
import struct
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.fatbin_image import BadImageError, Compression, Image, ImageKind, read_image
from fadoctor.binary.registration import LINKED, read_wrappers
from fadoctor.binary.segments import read_layout
from fadoctor.binary.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fadoctor.binary.source import BinarySource

MAGIC = b"\x50\xed\x55\xba"
MAX_CONTAINERS = 1 << 16
MAX_IMAGES = 1 << 17
MAX_MAGICS = 1 << 18
"""Most places with the magic, containers or not, that a search looks at."""
_CONTAINER = struct.Struct("<4sHHQ")
_NOTE_LIMIT = 1 << 16
_RELEASE = rb"Cuda compilation tools, release (\d{1,3}\.\d{1,3}),"
_ET_REL = b"\x01\x00"


class Role(Enum):
    """What the CUDA runtime does with a container."""

    REGISTERED = "registered"
    """Its kernels are what the program calls."""
    LINKED = "linked"
    """The same, put together from relocatable ones when the file was built."""
    RELOCATABLE = "relocatable"
    """Linked again by the driver where the linked one has no code for the GPU."""
    STUB = "stub"
    """Linked from nothing: nvcc links device code in every library, parts or not."""
    UNCLAIMED = "unclaimed"
    """Found in the file, but no wrapper hands it to the runtime."""


class Container(msgspec.Struct, frozen=True):
    """A run of images that holds the same kernels for several architectures."""

    offset: int
    end: int
    role: Role
    images: tuple[Image, ...]


class Fatbins(msgspec.Struct, frozen=True):
    """The GPU code of a file."""

    format: str
    """elf or pe."""
    containers: tuple[Container, ...]
    """By place in the file."""
    toolkit: str
    """CUDA release that built the first plain cubin, where that says so (13.0 on); else empty."""


def read_fatbins(path: str | Path, *, thorough: bool = False) -> Fatbins:
    """Read the containers that a library hands to the CUDA runtime.

    Wrappers in its data name them. Where there is none, or one cannot be followed, all
    that is mapped is searched; `thorough` searches in any case, for containers that a library
    loads by itself. Raises BadBinaryError and nothing else. Costs milliseconds for 1 GB, a search
    several tenths of a second.
    """
    with open_source(path) as source:
        layout = read_layout(source)
        wrappers = read_wrappers(source, layout)
        source.expect_jumps()
        reader = _Reader(source)
        found = {offset: reader.registered(offset) for offset in wrappers.containers}
        if thorough or wrappers.unresolved or not wrappers.containers:
            for start, end in layout.ranges():
                found |= {c.offset: c for c in reader.search(start, end, found)}
        in_order = [found[offset] for offset in sorted(found)]
        containers = _without_stubs(_with_roles(source, in_order, wrappers.containers))
        return Fatbins(layout.format, containers, _toolkit(source, containers))


class _Reader:
    """Reads containers of one file, and refuses to read too many."""

    def __init__(self, source: BinarySource) -> None:
        self.source = source
        self.images = 0
        self.containers = 0
        self.magics = 0

    def registered(self, offset: int) -> Container:
        """Return the container at a place that a wrapper names."""
        container = self.container(offset, self.source.size)
        if container is None:
            raise BadBinaryError(f"no fatbin at {offset:#x}, where one is registered")
        return container

    def search(self, start: int, end: int, known: dict[int, Container]) -> Iterator[Container]:
        """Yield the containers of a part of the file, those that are known among them."""
        while True:
            place = self.source.find(MAGIC, start, end)
            if place < 0:
                return
            self.magics += 1
            if self.magics > MAX_MAGICS:
                raise BadBinaryError(f"more than {MAX_MAGICS} places that look like fatbins")
            container = known.get(place) or self.attempt(place, end)
            if container is not None:
                yield container
                start = (container.end + 7) & ~7
            else:
                start = place + 1

    def attempt(self, place: int, limit: int) -> Container | None:
        """Return the container at a place, None where the magic stands there by chance."""
        try:
            return self.container(place, limit) if place % 8 == 0 else None
        except BadImageError:
            return None

    def container(self, offset: int, limit: int) -> Container | None:
        """Return the container at a place, None where there is none that ends before `limit`."""
        if offset + _CONTAINER.size > limit:
            return None
        magic, version, header, size = _CONTAINER.unpack(self.source.read(offset, _CONTAINER.size))
        end = offset + header + size
        if magic != MAGIC or version != 1 or header < _CONTAINER.size or end > limit:
            return None
        self.containers += 1
        images = []
        position = offset + header
        while position < end:
            image = read_image(self.source, position, end)
            position = image.offset + image.size
            images.append(image)
            self.images += 1
            if self.images > MAX_IMAGES or self.containers > MAX_CONTAINERS:
                raise BadBinaryError(f"more than {MAX_CONTAINERS} fatbins or {MAX_IMAGES} images")
        return Container(offset, end, Role.UNCLAIMED, tuple(images))


def _with_roles(
    source: BinarySource, containers: list[Container], wrappers: dict[int, int]
) -> Iterator[Container]:
    """Yield the containers with their roles.

    A program without a linked container has no relocatable ones. In one that has, both kinds have
    wrappers of version 1; the relocatable ones lie in a section of their own. Sections are runs
    of adjacent containers; where two sections touch, the images tell.
    """
    has_linked = LINKED in wrappers.values()
    for run in _runs(containers):
        mixed = any(wrappers.get(container.offset) == LINKED for container in run)
        for container in run:
            version = wrappers.get(container.offset)
            if version is None:
                role = Role.UNCLAIMED
            elif version == LINKED:
                role = Role.LINKED
            elif has_linked and (not mixed or _is_relocatable(source, container)):
                role = Role.RELOCATABLE
            else:
                role = Role.REGISTERED
            yield msgspec.structs.replace(container, role=role)


def _without_stubs(containers: Iterable[Container]) -> tuple[Container, ...]:
    """Return the containers, a linked one as a stub where others are registered but no parts."""
    found = tuple(containers)
    roles = {container.role for container in found}
    if Role.RELOCATABLE in roles or Role.REGISTERED not in roles:
        return found
    return tuple(
        msgspec.structs.replace(c, role=Role.STUB) if c.role is Role.LINKED else c for c in found
    )


def _runs(containers: list[Container]) -> list[list[Container]]:
    """Return the containers in groups that follow each other without a gap."""
    runs: list[list[Container]] = []
    for container in containers:
        if runs and (runs[-1][-1].end + 7) & ~7 == container.offset:
            runs[-1].append(container)
        else:
            runs.append([container])
    return runs


def _is_relocatable(source: BinarySource, container: Container) -> bool:
    for image in container.images:
        if image.kind is ImageKind.LTO or "--compile-only" in image.options:
            return True
        if (
            image.kind is ImageKind.CUBIN
            and image.compression is Compression.NONE
            and image.size >= 64
        ):
            return source.read(image.offset + 16, 2) == _ET_REL
    return False


def _toolkit(source: BinarySource, containers: tuple[Container, ...]) -> str:
    """Return the release in the note of the first plain cubin, from CUDA 13.0 on."""
    for image in (image for container in containers for image in container.images):
        if image.kind is ImageKind.CUBIN and image.compression is Compression.NONE:
            # Cuda compilation tools, release 13.0, V13.0.88
            match = re.search(_RELEASE, source.read(image.offset, min(image.size, _NOTE_LIMIT)))
            return match[1].decode() if match else ""
    return ""
