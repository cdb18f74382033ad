"""Bundles of code for AMD's GPUs, in hand-assembled libraries."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.binary import offload
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.offload import Offload, read_offload
from tests.unit.binary.fatbin_builder import container, elf, image
from tests.unit.binary.offload_builder import bundle, entries, library, packed, vectors
from tests.work import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Look = Callable[[bytes], Offload]

TWO = bundle("gfx90a:sramecc+:xnack-", "gfx942")


@pytest.fixture
def look(tmp_path: Path) -> Look:
    def read(data: bytes) -> Offload:
        file = tmp_path / "library.so"
        file.write_bytes(data)
        return read_offload(file)

    return read


@pytest.mark.parametrize("relocated", [0, 8])
def test_reads_what_the_wrappers_name(look: Look, relocated: int) -> None:
    found = look(library(TWO, bundle("gfx942", "gfx1100"), relocated=relocated))
    assert [one.targets for one in found.bundles] == [("gfx90a", "gfx942"), ("gfx942", "gfx1100")]
    assert (found.count, found.common) == (2, ("gfx942",))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_bundle_that_zlib_packed(look: Look, version: int) -> None:
    found = look(library(packed(TWO, version)))
    assert (found.bundles[0].packed, found.common) == ("zlib", ("gfx90a", "gfx942"))


@pytest.mark.parametrize("level", [1, 5, 19])
def test_a_bundle_that_zstd_packed(look: Look, level: int) -> None:
    found = look(library(packed(vectors()[f"bundle {level}"], 3, method=1)))
    assert found.bundles[0].packed == "zstd"
    assert found.common == ("gfx1100", "gfx1201", "gfx90a", "gfx942")


def test_the_name_says_features_and_generations(look: Look) -> None:
    found = look(library(entries("hip-amdgcn-amd-amdhsa-unknown-gfx11-generic", "openmp-nvptx64")))
    assert found.bundles[0].names[1] == "openmp-nvptx64"
    assert found.common == ("gfx11-generic",)


def test_an_entry_without_code_is_none(look: Look) -> None:
    data = entries("hipv4-amdgcn-amd-amdhsa--gfx942", empty=("hipv4-amdgcn-amd-amdhsa--gfx908",))
    assert look(library(data)).common == ("gfx942",)


def test_code_of_nvidia_is_none_of_amd(look: Look) -> None:
    assert look(elf(container(image()), wrappers=[(1, 0)])) == Offload((), 0)


def test_of_many_some_are_read(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "READ_LIMIT", 3)
    found = look(library(*[bundle("gfx942")] * 8))
    assert (found.count, len(found.bundles)) == (8, 3)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no bundle at all".ljust(5000), "no bundle"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 40), "no bundle"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, 0, 9, 1 << 40), "truncated"),
        (packed(TWO, 2)[:6] + b"\x07\x00" + packed(TWO, 2)[8:], "method 7"),
        (b"CCOB\x09\x00\x00\x00".ljust(64, b"\0"), "version 9"),
        (packed(b"", 3, method=1), "no Zstandard"),
    ],
)
def test_what_is_malformed_is_told(look: Look, data: bytes, why: str) -> None:
    with pytest.raises(BadBinaryError, match=why):
        look(library(data))


@given(st.data())
@settings(max_examples=examples(300), deadline=None, database=None)
@pytest.mark.property
def test_damage_ends_in_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = library(TWO, packed(TWO), packed(vectors()["bundle 1"], 2, method=1))
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)))] or b"\0")
    for _ in range(data.draw(st.integers(0, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.getbasetemp() / "offload"
    file.write_bytes(damaged)
    try:
        found = read_offload(file)
    except BadBinaryError:
        return
    assert all(len(name) <= offload.MAX_NAME for one in found.bundles for name in one.names)
