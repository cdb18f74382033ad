"""The tables of what torch for Windows exports: the reader of import libraries, and the index."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from tests.binaries.pe.published import index_in
from tools.refresh.errors import WheelError
from tools.windows_symbols import (
    LIBRARIES,
    RELEASES,
    TABLES,
    digest,
    exports_of,
    said,
    symbols_of,
    symbols_table,
    wheel_of,
)

if TYPE_CHECKING:
    from pathlib import Path


def import_library(*names: str) -> bytes:
    """Return an import library with a first linker member only."""
    text = b"".join(name.encode() + b"\0" for name in names)
    member = struct.pack(f">I{len(names)}I", len(names), *range(len(names))) + text
    header = b"/".ljust(48) + str(len(member)).encode().ljust(10) + b"`\n"
    return b"!<arch>\n" + header + member


def test_an_import_library_lists_what_its_dll_exports() -> None:
    data = import_library(
        "__imp_?f@c10@@YAXXZ", "?f@c10@@YAXXZ", "__imp_g", "__IMPORT_DESCRIPTOR_x"
    )
    assert symbols_of(data) == {"?f@c10@@YAXXZ", "g"}
    with pytest.raises(WheelError):
        symbols_of(b"MZ")


def test_releases_are_said_as_people_say_them() -> None:
    assert said(RELEASES[2:]) == "2.2 and newer"
    assert said(RELEASES[:4]) == "2.3 and older"
    assert said(RELEASES[3:8]) == "2.3 to 2.7"
    assert said(RELEASES[3:4]) == "2.3"
    assert said((RELEASES[0], RELEASES[4])) == ""


def test_only_symbols_that_came_or_went_are_rows() -> None:
    old, new = frozenset({"a", "old"}), frozenset({"a", "new"})
    exports = {
        release: dict.fromkeys(LIBRARIES, old if at < 5 else new)
        for at, release in enumerate(RELEASES)
    }
    text = symbols_table(exports, {"a": "c10", "old": "c10", "new": "torch_cpu", "none": "c10"})
    rows = text.partition("rows:\n")[2].splitlines()
    assert [row.strip() for row in rows] == [
        "- {symbol: 'new', library: torch_cpu, releases: 2.5 and newer}",
        "- {symbol: 'old', library: c10, releases: 2.4 and older}",
    ]


def exported() -> list[dict[str, Any]]:
    path = TABLES / "torch-windows-exports.yaml"
    data: Any = read_yaml(path.read_text(encoding="utf-8"), path.name).data
    rows: list[dict[str, Any]] = data["rows"]
    return rows


def test_the_tables_have_every_release() -> None:
    rows = exported()
    assert len(rows) == len(RELEASES) * len(LIBRARIES)
    assert len({row["release"] for row in rows}) == len(RELEASES) >= 8
    assert all(row["symbols"] > 300 for row in rows)
    assert "torch-windows-symbols" in load_knowledge().tables


@pytest.mark.network
@pytest.mark.slow
def test_a_release_is_what_the_table_says(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    rows = exported()
    found = exports_of(wheel_of(index, "torch", "2.8.0"))
    assert {row["library"]: row["digest"] for row in rows if row["release"] == "2.8.0"} == {
        library: digest(symbols) for library, symbols in found.items()
    }
