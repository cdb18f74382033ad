"""What is given as a log: text of any kind is read, gzip unpacked, everything else named."""

from __future__ import annotations

import gzip
import hashlib
import io

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.logs import opening
from fadoctor.sources.logs.opening import open_log

TEXT = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n" * 400
NOISE = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(1_000))
"""Bytes without any order, the same in each run."""


def content(data: bytes) -> bytes:
    stream = open_log(io.BytesIO(data), "a.log")
    return b"".join(iter(lambda: stream.read(1000), b""))


def refusal(data: bytes) -> str:
    with pytest.raises(InputError) as error:
        content(data)
    assert error.value.exit_code == 2
    return str(error.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gb18030"])
def test_text_of_each_encoding_is_passed_on(encoding: str) -> None:
    data = f"{TEXT}找不到指定的模块\n".encode(encoding)
    assert content(data) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\x1b[31mError\x1b[0m 10%|#  |\r 20%|## |\b\b\x07\n" * 100,
        b"\0" * 8000 + TEXT.encode(),
        "错误 找不到\n".encode("utf-16") * 300,
        b"MZ is how this log begins\n",
    ],
    ids=["empty", "a line", "a terminal", "NULs of a rotated log", "UTF-16", "letters of a magic"],
)
def test_odd_text_is_text(data: bytes) -> None:
    assert content(data) == data


def test_gzip_is_unpacked() -> None:
    assert content(gzip.compress(TEXT.encode())) == TEXT.encode()


def test_of_a_gzip_that_was_cut_off_the_beginning_is_read() -> None:
    noise = NOISE.hex().encode()
    found = content(gzip.compress(TEXT.encode() + noise)[:-9_000])
    assert found.startswith(TEXT.encode())


def test_a_damaged_gzip_is_named() -> None:
    assert "damaged gzip" in refusal(b"\x1f\x8b\x08" + b"\xff" * 40)


def test_what_unpacks_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "UNPACKED", 1 << 20)
    assert "larger than" in refusal(gzip.compress(b"a line\n" * 400_000))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF\x02\x01\x01\0" + b"\0" * 100, "ELF"),
        (b"PK\x03\x04" + b"\x14\0\0\0" * 30, "zip"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 30, "picture"),
        (b"\xfd7zXZ\0" + b"\0" * 30, "xz"),
        (b"BZh91AY&SY" + b"\xff" * 30, "bzip2"),
        (b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff" + bytes(range(1, 32)) * 3, "Windows"),
        (b"train.log".ljust(257, b"\0") + b"ustar\0" + b"0" * 200, "tar"),
        (NOISE, "binary"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, kind: str) -> None:
    assert kind in refusal(data)
    assert kind in refusal(gzip.compress(data))
