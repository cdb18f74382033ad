"""Files that are read in pieces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary import source as module
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.source import WINDOW, open_source
from fadoctor.model.errors import FadoctorError

if TYPE_CHECKING:
    from pathlib import Path


def test_reads_exactly_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with open_source(tmp_path / "a") as source:
        assert (source.size, source.read(3, 4), source.read(10, 0)) == (10, b"3456", b"")
        for offset, size in [(8, 3), (-1, 2), (1 << 70, 1)]:
            with pytest.raises(BadBinaryError, match="truncated"):
                source.read(offset, size)


def test_finds_patterns_across_windows(tmp_path: Path) -> None:
    places = [0, 4094, WINDOW - 2, WINDOW + 5, 2 * WINDOW - 1, 3 * WINDOW - 4]
    data = bytearray(3 * WINDOW)
    for place in places:
        data[place : place + 4] = b"find"
    (tmp_path / "a").write_bytes(data)
    with open_source(str(tmp_path / "a")) as source:
        assert list(source.find_all(b"find", 0, source.size)) == places
        assert list(source.find_all(b"find", 1, places[-1] + 3)) == places[1:-1]
        found, start = [], 0
        while (place := source.find(b"find", start, source.size)) >= 0:
            found.append(place)
            start = place + 4
        assert found == places
        assert source.find(b"find", 1, 4097) == -1


def test_what_cannot_be_opened_is_one_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "pipe", "/dev/zero", "nul\0l"):
        with pytest.raises(BadBinaryError), open_source(path):
            pass


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"12345678")
    monkeypatch.setattr(module, "SIZE_LIMIT", 4)
    with pytest.raises(BadBinaryError, match="larger"), open_source(tmp_path / "a"):
        pass


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(bytes(100))
    with open_source(file) as source:
        os.truncate(file, 10)
        with pytest.raises(BadBinaryError, match="shrank"):
            source.read(0, 50)


def test_the_error_is_one_of_fadoctor() -> None:
    assert issubclass(BadBinaryError, FadoctorError)
    assert str(BadBinaryError("why")) == "why"
