"""Files of manifests: regular, bounded, decoded; and the places in their TOML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.source import DEPTH_LIMIT, FILE_LIMIT, SIZE_LIMIT, open_source
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from pathlib import Path

LOCK = """version = 1
[[package]]
name = "torch"
dependencies = [
    { name = "triton" },
]

[[package]]
name = "triton"
[package.optional-dependencies]
all = ["a",
  "b"]
[tool."uv".sources]
torch = { index = "pytorch" }
"""


def write(folder: Path, text: str | bytes, name: str = "requirements.txt") -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("torch==2.7.1 # ö\r\n".encode(), "utf-8"),
        ("torch==2.7.1 # ö\r\n".encode("utf-8-sig"), "utf-8-sig"),
        ("torch==2.7.1 # ö\r\n".encode("utf-16"), "utf-16"),
    ],
)
def test_a_file_is_decoded_as_it_was_written(tmp_path: Path, data: bytes, encoding: str) -> None:
    source = open_source(write(tmp_path, data))
    assert source.lines() == ["torch==2.7.1 # ö", ""]
    assert source.encoding == encoding


def test_bytes_of_another_encoding_survive(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, b"torch # \xe4\n"))
    assert source.text.encode("utf-8", "surrogateescape") == b"torch # \xe4\n"


def test_what_is_no_text_is_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"requirements\.txt:2: has a NUL byte"):
        open_source(write(tmp_path, "torch\nfl\0ash\n"))


def test_no_device_pipe_or_folder_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("/dev/zero", str(tmp_path / "pipe")):
        with pytest.raises(InputError, match="not a regular file"):
            open_source(name)
    with pytest.raises(InputError, match="is a folder"):
        open_source(str(tmp_path))
    with pytest.raises(InputError, match="No such file"):
        open_source(str(tmp_path / "gone"))
    source = open_source(write(tmp_path, "-r /dev/zero"))
    with pytest.raises(InputError, match="not a regular file"):
        source.read_beside("/dev/zero")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "uv.lock"
    with path.open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    with pytest.raises(InputError, match="larger than"):
        open_source(str(path))


def test_includes_are_named_relative_to_the_file_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", "torch", "base.txt")
    source = open_source(write(tmp_path, "-r sub/base.txt")).read_beside("sub/base.txt")
    assert source.name == str(tmp_path / "sub" / "base.txt")
    assert source.is_included
    assert open_source(str(tmp_path / "requirements.txt")).is_included is False


def test_includes_in_circles_are_refused_through_links_too(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "-r link.txt"))
    (tmp_path / "link.txt").symlink_to(tmp_path / "requirements.txt")
    with pytest.raises(InputError, match="includes itself"):
        source.read_beside("link.txt")


def test_chains_and_numbers_of_includes_are_bounded(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "", "0"))
    for index in range(1, DEPTH_LIMIT):
        write(tmp_path, "", str(index))
        source = source.read_beside(str(index))
    with pytest.raises(InputError, match="deep"):
        source.read_beside(write(tmp_path, "", "last"))
    source = open_source(str(tmp_path / "0"))
    for _ in range(FILE_LIMIT - 1):
        source.read_beside("1")
    with pytest.raises(InputError, match="files include each other"):
        source.read_beside("1")


def test_places_of_tables_keys_and_items(tmp_path: Path) -> None:
    tree = read_toml(open_source(write(tmp_path, LOCK, "uv.lock")))
    torch, triton = tree.items(tree.root, "package")
    assert tree.text(triton, "name") == "triton"
    assert [
        (place.line, place.column)
        for place in map(
            tree.place,
            (
                *tree.items(torch, "dependencies"),
                *tree.items(triton, "optional-dependencies", "all"),
                tree.table(tree.root, "tool", "uv", "sources")["torch"],
            ),
        )
    ] == [(5, 5), (11, 8), (12, 3), (14, 9)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = [1,\n", "uv.lock:3: no TOML"),
        ("a = 1\nb = what\n", "uv.lock:2: no TOML"),
        ("a = 1\na = " + "[" * 10_000, "uv.lock:2: no TOML: nested more than 64 deep"),
        ("a = " + "[\n" * 10_000, "nested more than 64 deep"),
        ("a = " + "{a=" * 10_000, "uv.lock:1: no TOML: nested more"),
        ("a." * 20_000 + "a = 1", "uv.lock:1: no TOML: nested more than 64"),
        ("a = {" + '"a".' * 20_000 + "a = 1}", "uv.lock:1: no TOML: nested more than 64"),
        ("[" + "a." * 20_000 + "a]", "uv.lock:1: no TOML: nested more than 64"),
    ],
)
def test_bad_toml_is_an_error_with_a_line(tmp_path: Path, text: str, said: str) -> None:
    source = open_source(write(tmp_path, text, "uv.lock"))
    with pytest.raises(InputError) as caught:
        read_toml(source)
    assert said in str(caught.value)
