"""Build ids: of a real file, and what stands for one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fadoctor.binary.build_id import _find, build_id
from fadoctor.binary.files import Tree


def test_a_note_among_others() -> None:
    other = b"\x04\0\0\0\x04\0\0\0\x01\0\0\0GNU\0\1\2\3\4"
    note = b"\x04\0\0\0\x06\0\0\0\x03\0\0\0GNU\0\xaa\xbb\xcc\xdd\xee\xff\0\0"
    assert _find(other + note, 4).hex() == "aabbccddeeff"
    assert _find(other + note[:-4], 4) == b""
    assert _find(b"\xff" * 40, 4) == b""


def test_what_has_none_is_told_by_its_ends(tmp_path: Path) -> None:
    found = []
    for text in (b"a" * 9_000, b"a" * 9_001, b""):
        (tmp_path / "x").write_bytes(text)
        with Tree() as tree:
            found.append(build_id(tree.open(str(tmp_path / "x"))))
    assert len(set(found)) == 3
    assert all(each.startswith("~") for each in found)


@pytest.mark.skipif(sys.platform != "linux", reason="ELF files")
def test_a_real_file_is_read() -> None:
    with Tree() as tree:
        assert len(build_id(tree.open(str(Path(sys.executable).resolve())))) in (9, 10)
