"""Damaged and hostile files: nothing but BadBinaryError comes out, soon, and in little memory.

``FADOCTOR_TESTS_REQUIRE=long`` runs 8,000 mutations that follow the code, and
``FADOCTOR_TESTS_MUTATIONS=100000`` says how many instead.
"""

from __future__ import annotations

import os
import struct
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.binary.coverage import summarise
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.fatbin import read_fatbins
from tests.unit.binary.fatbin_builder import (
    container,
    elf,
    image,
)
from tests.work import examples
from tools.fuzz.binaries import fatbin_corpus
from tools.fuzz.loop import How, fuzz

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.binary.fatbin import Fatbins

    Read = Callable[..., Fatbins]

MUTATIONS = int(os.environ.get("FADOCTOR_TESTS_MUTATIONS", "8000"))

CORPUS = fatbin_corpus()


def reader(folder: Path, look: Callable[[Path], None]) -> Callable[[bytes], bool]:
    def read(data: bytes) -> bool:
        file = folder / "input"
        file.write_bytes(data)
        try:
            look(file)
        except BadBinaryError:
            return False
        return True

    return read


def look(path: Path) -> None:
    for thorough in (False, True):
        summarise(read_fatbins(path, thorough=thorough))


@pytest.mark.long
@pytest.mark.property
def test_mutations(tmp_path: Path) -> None:
    found = fuzz(reader(tmp_path, look), CORPUS, 1500)
    assert found.runs == 1500 + len(CORPUS)
    assert 0 < found.read < found.runs
    assert found.slowest_s < 5


@pytest.mark.long
@pytest.mark.property
def test_mutations_that_follow_the_code(tmp_path: Path) -> None:
    peaks = []

    def measure(path: Path) -> None:
        tracemalloc.start()
        try:
            look(path)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    found = fuzz(reader(tmp_path, measure), CORPUS, 300, How(seed=1, guided=True))
    assert found.inputs > 2 * len(CORPUS)
    assert max(peaks) < 4 << 20


@pytest.mark.property
@pytest.mark.long
def test_many_mutations(tmp_path: Path) -> None:
    found = fuzz(reader(tmp_path, look), CORPUS, MUTATIONS, How(seed=2, guided=True))
    assert found.slowest_s < 5


@pytest.mark.long
@pytest.mark.property
def test_some_mutations(tmp_path: Path) -> None:
    found = fuzz(reader(tmp_path, look), CORPUS, 3_000, How(seed=3, guided=True))
    assert found.runs >= 3_000


@pytest.mark.long
@pytest.mark.parametrize("data", CORPUS[:-1])
def test_every_truncation(read: Read, data: bytes) -> None:
    whole = read(data)
    for size in {*range(0, len(data), 23), *range(0x200), *range(len(data) - 300, len(data))}:
        try:
            found = read(data[:size])
        except BadBinaryError:
            continue
        # What fills up the last section is not mapped.
        assert found == whole
        assert not any(data[size:])


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x7fELF\x02\x01\x01", b"MZ"]))
@settings(max_examples=examples(300), deadline=None, database=None)
@pytest.mark.property
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, magic: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(magic + data)
    with pytest.raises(BadBinaryError):
        read_fatbins(file)


@given(st.binary(max_size=400))
@settings(max_examples=examples(300), deadline=None, database=None)
@pytest.mark.property
def test_any_images(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(elf(container(body)))
    for one in read_fatbins(file).containers:
        assert sum(image.size + 64 for image in one.images) <= len(body)
    file.write_bytes(elf(container(body), wrappers=[(1, 0)]))
    try:
        found = read_fatbins(file)
    except BadBinaryError:
        return
    assert len(found.containers) == 1


def test_containers_inside_of_each_other_are_bounded(read: Read) -> None:
    """Each would be read to its end, where an image is broken, and then the next in it."""
    count = 700
    inner = [
        image(payload=struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 80 * (count - at + 1)))
        for at in range(count + 1)
    ]
    broken = struct.pack("<HHIQ", 2, 0x0101, 64, 1 << 40) + bytes(64)
    with pytest.raises(BadBinaryError, match="more than"):
        read(elf(b"".join(inner) + broken))


def test_a_file_full_of_magics_is_bounded(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fadoctor.binary.fatbin.MAX_MAGICS", 100)
    monkeypatch.setattr("fadoctor.binary.registration.MAX_MAGICS", 100)
    with pytest.raises(BadBinaryError, match="more than"):
        read(elf(struct.pack("<I", 0xBA55ED50) * 101))
    with pytest.raises(BadBinaryError, match="more than"):
        read(elf(b"", tail=struct.pack("<I", 0x466243B1) * 106))
