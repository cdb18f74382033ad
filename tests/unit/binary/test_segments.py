"""Program headers of ELF, sections of PE."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.segments import Layout, Segment, read_layout
from fadoctor.binary.source import open_source
from tests.unit.binary.fatbin_builder import IMAGE_BASE, container, elf, image, pe

if TYPE_CHECKING:
    from pathlib import Path

ELF = elf(container(image()), wrappers=[(1, 0)])
PE = pe(container(image()), wrappers=[(1, 0)])


def layout(data: bytes, folder: Path) -> Layout:
    file = folder / "file"
    file.write_bytes(data)
    with open_source(file) as source:
        return read_layout(source)


def test_elf(tmp_path: Path) -> None:
    found = layout(ELF, tmp_path)
    assert (found.format, found.base, found.dynamic) == ("elf", 0, (0, 0))
    assert found.ranges() == [(0, 0x270), (0x1000, 0x1018)]
    assert found.ranges(wrappers=True) == [(0x1000, 0x1018)]


def test_pe(tmp_path: Path) -> None:
    found = layout(PE, tmp_path)
    assert (found.format, found.base) == ("pe", IMAGE_BASE)
    assert found.ranges(wrappers=True) == [(0x600, 0x618)]
    assert found.offset_of(0x5000) == 0x400


def test_addresses_become_places() -> None:
    found = Layout(
        "elf", 0, (Segment(0, 0, 0x100, False), Segment(0x1200, 0x200, 0x80, True)), (0, 0)
    )
    asked = (0, 0xFF, 0x100, 0x11FF, 0x1200, 0x127F, 0x1280, -1, 1 << 64)
    assert [found.offset_of(a) for a in asked] == [0, 0xFF, -1, -1, 0x200, 0x27F, -1, -1, -1]


def test_a_part_that_is_mapped_often_is_searched_once() -> None:
    segments = [(0, 50, True), (10, 20, True), (40, 60, True), (100, 0, True), (200, 8, False)]
    found = Layout("elf", 0, tuple(Segment(0, *row) for row in segments), (0, 0))
    assert found.ranges() == [(0, 100), (200, 208)]
    assert found.ranges(wrappers=True) == [(0, 100)]


def test_section_headers_are_never_read(tmp_path: Path) -> None:
    data = bytearray(ELF)
    struct.pack_into("<Q", data, 40, 1 << 60)
    struct.pack_into("<HHH", data, 58, 64, 999, 998)
    assert layout(bytes(data), tmp_path) == layout(ELF, tmp_path)


def test_a_part_without_bytes_may_lie_anywhere(tmp_path: Path) -> None:
    data = bytearray(ELF)
    struct.pack_into("<QQQQ", data, 64 + 56 + 8, 1 << 40, 0, 0, 0)
    assert layout(bytes(data), tmp_path).ranges() == [(0, 0x270)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"text, no library", "neither"),
        (b"M", "neither"),
        (b"\x7fELF", "truncated"),
        (ELF[:4] + b"\x01" + ELF[5:], "not 64-bit"),
        (ELF[:5] + b"\x02" + ELF[6:], "not 64-bit"),
        (ELF[:56] + b"\0\0" + ELF[58:], "program headers"),
        (ELF[:56] + b"\xff\xff" + ELF[58:], "program headers"),
        (ELF[:54] + b"\x20\0" + ELF[56:], "program headers"),
        (ELF[:32] + b"\xff" * 8 + ELF[40:], "truncated"),
        (ELF[:-1], "it should have 4120 bytes and has 4119"),
        (ELF[:0x100], "it should have"),
        (PE[:60], "truncated"),
        (PE[:60] + b"\xff" * 4 + PE[64:], "truncated"),
        (PE[:0x80] + b"NE" + PE[0x82:], "not 64-bit PE"),
        (PE[:0x98] + b"\x0b\x01" + PE[0x9A:], "not 64-bit PE"),
        (PE[:0x86] + b"\xff\xff" + PE[0x88:], "too many"),
        (PE[:0x610], "it should have"),
    ],
)
def test_what_is_no_library_is_one_error(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(BadBinaryError, match=reason):
        layout(data, tmp_path)
