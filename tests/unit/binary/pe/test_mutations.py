"""Damaged and hostile PE files: nothing but BadBinaryError comes out, soon, and in little memory.

``FADOCTOR_TESTS_REQUIRE=long`` runs 20,000 mutations; ``FADOCTOR_TESTS_MUTATIONS=100000`` says how
many instead.
"""

from __future__ import annotations

import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from tools.fuzz.binaries import pe_corpus, pe_reader
from tools.fuzz.loop import How, fuzz

if TYPE_CHECKING:
    from pathlib import Path

MUTATIONS = int(os.environ.get("FADOCTOR_TESTS_MUTATIONS", "20000"))
_SLOWEST_S = 5.0
_MOST_MEMORY = 16 << 20


@pytest.mark.parametrize("guided", [False, True])
def test_some_mutations(tmp_path: Path, *, guided: bool) -> None:
    found = fuzz(pe_reader(tmp_path), pe_corpus(), 1000, How(seed=7, guided=guided))
    assert 0 < found.read < found.runs
    assert found.slowest_s < _SLOWEST_S


@pytest.mark.long
def test_many_mutations(tmp_path: Path) -> None:
    found = fuzz(pe_reader(tmp_path), pe_corpus(), MUTATIONS, How(seed=11))
    assert found.runs >= MUTATIONS
    assert found.slowest_s < _SLOWEST_S


def test_memory_is_bounded(tmp_path: Path) -> None:
    read = pe_reader(tmp_path)
    tracemalloc.start()
    try:
        fuzz(read, pe_corpus(), 200, How(seed=3))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < _MOST_MEMORY


def test_every_truncation(tmp_path: Path) -> None:
    read = pe_reader(tmp_path)
    whole = pe_corpus()[0]
    read_ones = [size for size in range(0, len(whole), 7) if read(whole[:size])]
    # Only what fills up the last section may be missing.
    assert not any(whole[min(read_ones, default=len(whole)) :])


@given(st.binary(max_size=400))
@settings(max_examples=examples(300), deadline=None, database=None)
@pytest.mark.property
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert not pe_reader(folder)(b"MZ" + data)
