"""Bounded reading of files that shrink, lie or are no files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.files import BLOCK, BlockCache, Reader, Tree
from fadoctor.binary.header import Machine
from fadoctor.binary.ld_cache import LdCache
from fadoctor.binary.processor import Processor
from fadoctor.binary.search import Search, SearchSurroundings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 64)
    return path


def test_reads_within_and_across_blocks(file: Path) -> None:
    content = file.read_bytes()
    with Tree() as tree:
        reader = tree.open(str(file))
        for offset, size in ((0, 4), (BLOCK - 2, 4), (100, 3 * BLOCK), (len(content) - 1, 1)):
            assert reader.read(offset, size) == content[offset : offset + size]
        assert reader.read_up_to(len(content) - 3, 100) == content[-3:]
        assert reader.text(1, 1000) == bytes(range(1, 256))


@pytest.mark.parametrize(
    ("offset", "size"), [(-1, 4), (0, -1), (16_384, 1), (16_380, 8), (1 << 63, 1), (0, 1 << 40)]
)
def test_reads_outside_are_refused(file: Path, offset: int, size: int) -> None:
    with Tree() as tree, pytest.raises(BadBinaryError):
        tree.open(str(file)).read(offset, size)


def test_a_table_can_be_too_large(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 33)
    with Tree() as tree, pytest.raises(BadBinaryError, match="too large"):
        tree.open(str(path)).read(0, 1 << 32)


def test_a_file_that_shrinks_is_an_error(file: Path) -> None:
    with Tree() as tree:
        reader = tree.open(str(file))
        os.truncate(file, 100)
        with pytest.raises(BadBinaryError, match="shorter"):
            reader.read(8000, 4)
        with pytest.raises(BadBinaryError, match="shorter"):
            reader.read(0, 3 * BLOCK)


def test_text_that_does_not_end_is_an_error(file: Path) -> None:
    with Tree() as tree, pytest.raises(BadBinaryError, match="does not end"):
        tree.open(str(file)).text(1, 20)


def test_the_cache_is_bounded(file: Path) -> None:
    cache = BlockCache()
    descriptor = os.open(file, os.O_RDONLY)
    for number in range(20_000):
        cache.put((number, 0), b"x")
    assert len(cache.blocks) < 10_000
    assert Reader(descriptor, cache).read(3, 1) == b"\3"
    os.close(descriptor)


def test_what_is_not_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Tree(str(tmp_path)) as tree:
        for name in ("/pipe", "/gone", "/", "/x" * 5000, "/nul\0"):
            with pytest.raises((OSError, ValueError)):
                tree.open(name)
            assert tree.read(name, 10) == b""
            assert tree.names("/gone") == []
        assert not tree.is_folder("/gone\0")


def test_links_are_followed_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"inside")
    (tmp_path / "absolute").symlink_to("/real")
    (tmp_path / "up").symlink_to("../../../../real/./file")
    (tmp_path / "ring").symlink_to("ring")
    with Tree(str(tmp_path)) as tree:
        assert tree.read("/absolute/file", 10) == b"inside"
        assert tree.read("/up", 10) == b"inside"
        assert tree.resolve("/absolute/../up") == "/real/file"
        assert tree.real("/ring") == "/ring"
        with pytest.raises(OSError, match="symbolic links"):
            tree.resolve("/ring")


def test_words_in_search_paths(tmp_path: Path) -> None:
    (tmp_path / "lib" / "aarch64-linux-gnu").mkdir(parents=True)
    arm, old = Processor(0, "aarch64"), Processor(1, "x86_64")
    around = SearchSurroundings(Machine.AARCH64, "/usr/bin", "/a;b", "", arm, b"")
    with Tree(str(tmp_path)) as tree:
        search = Search(tree, around)
        assert search.folders("$ORIGIN/x:/$LIB:/${PLATFORM}/:/$LIBS:/${LIB", "/here") == [
            "/here/x",
            "/lib/aarch64-linux-gnu",
            "/aarch64",
            "/$LIBS",
            "/${LIB",
        ]
        # Without a working folder relative ones lead nowhere.
        assert search.folders("a::b", "/here") == []
        around = SearchSurroundings(Machine.X86_64, "/", "", "/w", old, b"")
        assert Search(tree, around).folders("a:", "/") == ["/w/a", "/w/."]


@pytest.mark.parametrize(
    "data", [b"", b"glibc-ld.so.cache1.1", b"glibc-ld.so.cache1.1" + b"\xff" * 60]
)
def test_damaged_cache_of_the_system(data: bytes) -> None:
    assert LdCache(data, Machine.X86_64).sonames == []
