"""Members are read by ranges, and a hostile wheel ends in an error."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.tools.tiny_index import packed
from tools.refresh import wheel as module
from tools.refresh.errors import FetchError, WheelError
from tools.refresh.wheel import Wheel

if TYPE_CHECKING:
    from tests.tools.tiny_index import Handler, TinyIndex

BIG = os.urandom(3 << 20)


def opened(index: TinyIndex, body: bytes) -> Wheel:
    index.files["/x.whl"] = body
    return Wheel(index.transport(), f"{index.origin}/x.whl")


def test_a_small_member_costs_little(index: TinyIndex) -> None:
    index.files["/x.whl"] = packed({"a/big.so": BIG, "a/METADATA": b"Name: a\n"})
    transport = index.transport()
    wheel = Wheel(transport, f"{index.origin}/x.whl")
    assert wheel.text("a/METADATA") == "Name: a\n"
    assert transport.received < 200_000
    assert set(wheel.names) == {"a/big.so", "a/METADATA"}


def test_a_large_member_comes_in_pieces(index: TinyIndex) -> None:
    wheel = opened(index, packed({"a/big.so": BIG, "b": b"x" * 10}, zipfile.ZIP_STORED))
    assert b"".join(wheel.chunks("a/big.so")) == BIG
    assert wheel.text("b") == "x" * 10


def test_a_bomb_is_cut(index: TinyIndex) -> None:
    wheel = opened(index, packed({"METADATA": b"\0" * (20 << 20)}))
    with pytest.raises(WheelError, match="larger"):
        wheel.text("METADATA")
    with pytest.raises(WheelError, match="larger"):
        list(wheel.chunks("METADATA", 1000))


def test_the_bytes_of_one_wheel_are_bounded(
    index: TinyIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = opened(index, packed({"a": BIG}, zipfile.ZIP_STORED))
    monkeypatch.setattr(module, "BYTE_LIMIT", 1 << 20)
    with pytest.raises(WheelError, match="would take more"):
        list(wheel.chunks("a"))


def test_a_huge_directory_is_refused(index: TinyIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DIRECTORY_LIMIT", 70_000)
    with pytest.raises(WheelError, match="directory"):
        opened(index, packed({f"member-{number:05}": b"" for number in range(2000)}))


@pytest.mark.parametrize(
    "body",
    [b"", b"PK", b"x" * 100_000, packed({"a": b"b"})[:-10]],
    ids=["empty", "two bytes", "one letter", "cut short"],
)
def test_what_is_no_wheel(index: TinyIndex, body: bytes) -> None:
    with pytest.raises((WheelError, FetchError)):
        opened(index, body)


def test_another_packing_is_refused(index: TinyIndex) -> None:
    wheel = opened(index, packed({"a": b"b" * 100}, zipfile.ZIP_LZMA))
    with pytest.raises(WheelError, match="packed"):
        wheel.text("a")


def test_a_missing_member(index: TinyIndex) -> None:
    with pytest.raises(WheelError, match="no b"):
        opened(index, packed({"a": b""})).text("b")


@pytest.mark.parametrize(
    ("at", "byte"),
    [(0, 0xFF), (45, 0xFF), (26, 0x70), (14, 0x01)],
    ids=["no header", "broken data", "long name", "checksum of the header is not used"],
)
def test_a_damaged_member(index: TinyIndex, at: int, byte: int) -> None:
    body = bytearray(packed({"member-name": b"some text, " * 50}))
    body[at] = byte
    wheel = opened(index, bytes(body))
    if at == 14:
        assert wheel.text("member-name").startswith("some")
        return
    with pytest.raises(WheelError):
        wheel.text("member-name")


def test_a_flipped_bit_in_a_stored_member(index: TinyIndex) -> None:
    body = packed({"a": b"some text"}, zipfile.ZIP_STORED).replace(b"some", b"sole")
    with pytest.raises(WheelError, match="not what the directory says"):
        opened(index, body).text("a")


def test_names_that_would_leave_a_folder_are_only_names(index: TinyIndex) -> None:
    wheel = opened(index, packed({"../../etc/passwd": b"x", "/abs": b"y"}))
    assert wheel.text("../../etc/passwd") == "x"
    assert all(len(path.name) == 64 for path in (index.folder / "cache").iterdir())


def test_a_size_that_changes_is_noticed(index: TinyIndex) -> None:
    body = packed({"a": BIG}, zipfile.ZIP_STORED)
    wheel = opened(index, body)

    def shrunk(handler: Handler) -> None:
        handler.reply(206, body[:10], "bytes 0-9/10")

    index.behaviours["/x.whl"] = shrunk
    with pytest.raises(WheelError, match="changed its size"):
        list(wheel.chunks("a"))
