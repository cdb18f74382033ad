"""The beginning of Zstandard frames, against what the zstd command packed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.zstd_start import MAGIC, first_bytes
from tests.unit.binary.offload_builder import text, vectors
from tests.work import examples

VECTORS = vectors()


@pytest.mark.parametrize("wanted", [0, 1, 33, 1000, 5000])
@pytest.mark.parametrize("name", [name for name in VECTORS if not name.startswith("run")])
def test_begins_as_the_text_does(name: str, wanted: int) -> None:
    expected = text(name.partition(" ")[0])[:wanted]
    found = first_bytes(VECTORS[name], wanted)
    assert found == expected[: len(found)]
    assert len(found) == len(expected) or name.endswith(" 19")  # level 19 makes smaller blocks


def test_a_run_of_one_byte() -> None:
    assert first_bytes(VECTORS["run 1"], 70_000) == b"x" * 70_000


@pytest.mark.parametrize(
    "data", [b"", b"CCOB", MAGIC, MAGIC + b"\x00", MAGIC + b"\x60\x00\x01\xff\xff\xff"]
)
def test_what_is_no_frame_is_told(data: bytes) -> None:
    with pytest.raises(BadBinaryError):
        first_bytes(data, 100)


@pytest.mark.parametrize("name", VECTORS)
def test_every_truncation_is_told_or_right(name: str) -> None:
    whole = first_bytes(VECTORS[name], 3000)
    for size in range(0, len(VECTORS[name]), 7):
        try:
            found = first_bytes(VECTORS[name][:size], 3000)
        except BadBinaryError:
            continue
        assert len(found) <= len(whole)


@given(st.sampled_from(sorted(VECTORS)), st.data())
@settings(max_examples=examples(400), deadline=None, database=None)
@pytest.mark.property
def test_damage_ends_in_one_error_and_in_little(name: str, data: st.DataObject) -> None:
    frame = bytearray(VECTORS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(frame) - 1))
        frame[at] = data.draw(st.integers(0, 255))
    try:
        found = first_bytes(bytes(frame), 4096)
    except BadBinaryError:
        return
    assert len(found) <= 4096
