"""Containers and their roles, in hand-assembled libraries."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary import fatbin
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.fatbin import Role
from fadoctor.binary.fatbin_image import Compression, ImageKind
from tests.unit.binary.fatbin_builder import (
    CUBIN,
    FAMILY,
    LINUX_64,
    LTO,
    LZ4,
    PLAIN_CUBIN,
    PTX,
    RELOCATABLE_CUBIN,
    RELOCATABLE_PTX,
    SPECIFIC,
    ZSTD,
    container,
    elf,
    image,
    pe,
    ptx,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.binary.fatbin import Fatbins

    Read = Callable[..., Fatbins]

TWO = container(image(architecture=80), ptx(90))
ONE = container(image(architecture=75))


def roles(found: Fatbins) -> list[str]:
    return [one.role.value for one in found.containers]


def targets(found: Fatbins) -> list[list[str]]:
    return [[image.target for image in one.images] for one in found.containers]


@pytest.mark.parametrize("build", [elf, pe])
def test_reads_what_the_wrappers_name(read: Read, build: Callable[..., bytes]) -> None:
    found = read(build(TWO, b"between them", ONE, wrappers=[(1, 0), (1, 2)]))
    assert targets(found) == [["8.0", "9.0"], ["7.5"]]
    assert roles(found) == ["registered", "registered"]
    assert found.format == build.__name__


@pytest.mark.parametrize("build", [elf, pe])
@pytest.mark.parametrize("thorough", [False, True])
def test_a_container_without_wrapper_is_found_by_a_search(
    read: Read, build: Callable[..., bytes], *, thorough: bool
) -> None:
    found = read(build(TWO, b"garbage" * 9, ONE, wrappers=[(1, 0)]), thorough=thorough)
    assert roles(found) == ["registered", *(["unclaimed"] if thorough else [])]


def test_a_library_without_wrappers_is_searched(read: Read) -> None:
    found = read(elf(TWO, ONE, b"\0" * 40, TWO))
    assert roles(found) == ["unclaimed"] * 3
    assert targets(found) == [["8.0", "9.0"], ["7.5"], ["8.0", "9.0"]]


def test_a_library_without_gpu_code_has_none(read: Read) -> None:
    assert read(elf(b"nothing")).containers == ()


def test_every_kind_suffix_flag_and_compression(read: Read) -> None:
    images = [
        image(CUBIN, 90, flags=LINUX_64 | SPECIFIC),
        image(CUBIN, 100, flags=LINUX_64 | FAMILY | 0x1000000, version=(1, 8)),
        image(PTX, 120, flags=LINUX_64 | FAMILY | LZ4, version=(9, 0), compressed=30),
        image(LTO, 80, flags=LINUX_64 | 0x10000 | ZSTD, compressed=31),
        image(77, 75, compressed=5),
        image(CUBIN, 80),
    ]
    (one,) = read(elf(container(*images), wrappers=[(1, 0)])).containers
    assert [(i.kind, i.target, i.version, i.compression) for i in one.images] == [
        (ImageKind.CUBIN, "9.0a", (1, 7), Compression.NONE),
        (ImageKind.CUBIN, "10.0f", (1, 8), Compression.NONE),
        (ImageKind.PTX, "12.0f", (9, 0), Compression.LZ4),
        (ImageKind.LTO, "8.0", (1, 7), Compression.ZSTD),
        (ImageKind.OTHER, "7.5", (1, 7), Compression.OTHER),
        (ImageKind.CUBIN, "8.0", (1, 7), Compression.NONE),
    ]
    assert [i.uncompressed_size for i in one.images] == [0, 0, 96, 96, 96, 0]
    assert one.images[0].flags == LINUX_64 | SPECIFIC


@pytest.mark.parametrize("header", [64, 72, 80, 96, 104, 112, 128, 136, 4096])
def test_the_header_of_an_image_may_be_longer(read: Read, header: int) -> None:
    body = container(image(header=header, payload=b"12345678"), image(architecture=86))
    (one,) = read(elf(body, wrappers=[(1, 0)])).containers
    assert [i.target for i in one.images] == ["8.0", "8.6"]
    assert one.images[0].size == 8
    assert one.images[1].offset - one.images[0].offset == 8 + 64


def test_options_are_read_from_their_block(read: Read) -> None:
    body = container(ptx(options=RELOCATABLE_PTX), ptx(options="x" * 300), ptx())
    (one,) = read(elf(body, wrappers=[(1, 0)])).containers
    assert [i.options for i in one.images] == [RELOCATABLE_PTX, "x" * 256, ""]


def test_options_that_lie_outside_of_the_header_are_none(read: Read) -> None:
    body = bytearray(container(ptx(options="-O3")))
    struct.pack_into("<I", body, 16 + 20, 1 << 30)
    (one,) = read(elf(bytes(body), wrappers=[(1, 0)])).containers
    assert one.images[0].options == ""


def test_an_empty_container(read: Read) -> None:
    found = read(elf(container(), ONE, wrappers=[(1, 0), (1, 1)]))
    assert targets(found) == [[], ["7.5"]]


@pytest.mark.parametrize("relative", [8, 1027], ids=["x86_64", "aarch64"])
def test_pointers_that_only_relocations_tell(read: Read, relative: int) -> None:
    found = read(elf(TWO, b"between", ONE, wrappers=[(1, 0), (1, 2)], relocated=relative))
    assert roles(found) == ["registered", "registered"]


def test_a_relocation_of_another_type_tells_nothing(read: Read) -> None:
    found = read(elf(TWO, b"between", ONE, wrappers=[(1, 0), (1, 2)], relocated=1))
    assert roles(found) == ["unclaimed", "unclaimed"]


def test_a_wrapper_that_cannot_be_followed_makes_it_search(read: Read) -> None:
    data = bytearray(elf(TWO, b"between", ONE, wrappers=[(1, 0), (1, 2)]))
    at = data.rindex(struct.pack("<II", 0x466243B1, 1))
    struct.pack_into("<Q", data, at + 8, 0x7FFF_FFFF_FFFF)
    assert roles(read(bytes(data))) == ["registered", "unclaimed"]
    struct.pack_into("<Q", data, at + 8, 0)  # and no relocation either
    assert roles(read(bytes(data))) == ["registered", "unclaimed"]


def test_wrappers_of_an_unknown_version_or_place_are_none(read: Read) -> None:
    assert roles(read(elf(TWO, wrappers=[(3, 0)]))) == ["unclaimed"]
    shifted = elf(TWO, tail=b"1234" + struct.pack("<IIQQ", 0x466243B1, 1, 0x200, 0))
    assert roles(read(shifted)) == ["unclaimed"]


LINKED = container(image(architecture=80, payload=PLAIN_CUBIN))
PLAIN = container(image(architecture=86, payload=PLAIN_CUBIN))
LATER = container(image(architecture=80, payload=RELOCATABLE_CUBIN))


def test_relocatable_containers_lie_apart_from_the_linked_one(read: Read) -> None:
    found = read(
        elf(ONE, ONE, b"module ids", LINKED, PLAIN, wrappers=[(1, 0), (1, 1), (2, 3), (1, 4)])
    )
    assert roles(found) == ["relocatable", "relocatable", "linked", "registered"]


@pytest.mark.parametrize(
    "part",
    [LATER, container(ptx(options=RELOCATABLE_PTX)), container(image(LTO, 80))],
    ids=["cubin", "ptx", "lto"],
)
def test_where_the_sections_touch_the_images_tell(read: Read, part: bytes) -> None:
    found = read(elf(LINKED, PLAIN, part, wrappers=[(2, 0), (1, 1), (1, 2)]))
    assert roles(found) == ["linked", "registered", "relocatable"]


def test_without_a_linked_container_nothing_is_relocatable(read: Read) -> None:
    assert roles(read(elf(LATER, wrappers=[(1, 0)]))) == ["registered"]


def test_a_link_of_nothing_is_a_stub(read: Read) -> None:
    assert roles(read(elf(LINKED, PLAIN, ONE, wrappers=[(2, 0), (1, 1), (1, 2)]))) == [
        "stub", "registered", "registered",
    ]  # fmt: skip
    assert roles(read(elf(LINKED, wrappers=[(2, 0)]))) == ["linked"]


def test_the_toolkit_stands_in_the_first_plain_cubin(read: Read) -> None:
    note = b"Cuda compilation tools, release 13.0, V13.0.88"
    cubin = image(payload=PLAIN_CUBIN + note + bytes(18))
    compressed = image(flags=LINUX_64 | LZ4, compressed=9, payload=note + bytes(2))
    assert read(elf(container(compressed, cubin), wrappers=[(1, 0)])).toolkit == "13.0"
    assert read(elf(container(compressed), wrappers=[(1, 0)])).toolkit == ""
    assert read(elf(ONE, wrappers=[(1, 0)])).toolkit == ""


def test_a_magic_by_chance_is_no_container(read: Read) -> None:
    magic = struct.pack("<I", 0xBA55ED50)
    huge = container(image(), size=1 << 62)
    version = magic + struct.pack("<HHQ", 2, 16, 0)
    header = magic + struct.pack("<HHQ", 1, 8, 0)
    cut = container(image()[:40])
    sizes = container(image(header=64)[:8] + b"\xff" * 56)
    found = read(elf(b"1234" + magic, magic, huge, version, header, cut, sizes, ONE))
    assert targets(found) == [["7.5"]]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"no container here", "no fatbin"),
        (container(image(), size=1 << 63), "no fatbin"),
        (container(image()[:40]), "cut off"),
        (container(image()[:-8]), "impossible sizes"),
        (container(image(header=64)[:4] + bytes(60)), "impossible sizes"),
    ],
)
def test_a_broken_container_that_is_registered_is_an_error(
    read: Read, broken: bytes, reason: str
) -> None:
    with pytest.raises(BadBinaryError, match=reason):
        read(elf(broken, wrappers=[(1, 0)]))


def test_too_many_images_are_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fatbin, "MAX_IMAGES", 3)
    with pytest.raises(BadBinaryError, match="more than"):
        read(elf(TWO, TWO, wrappers=[(1, 0), (1, 1)]))


def test_too_many_containers_are_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fatbin, "MAX_CONTAINERS", 2)
    with pytest.raises(BadBinaryError, match="more than"):
        read(elf(ONE, ONE, ONE, wrappers=[(1, 0), (1, 1), (1, 2)]))


def test_too_many_wrappers_are_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fadoctor.binary.registration.MAX_WRAPPERS", 2)
    with pytest.raises(BadBinaryError, match="wrappers"):
        read(elf(ONE, wrappers=[(1, 0)] * 3))


def test_a_container_that_is_registered_twice_counts_once(read: Read) -> None:
    found = read(elf(ONE, wrappers=[(1, 0), (2, 0), (1, 0)]))
    assert roles(found) == [Role.LINKED.value]
