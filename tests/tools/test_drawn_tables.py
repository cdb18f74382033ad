"""Cells of tables that people write, drawn by the day, against the index; and their ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.utils import parse_wheel_filename

from tests.tools.draw import cache, seed
from tools.refresh import drawn, drawn_cells
from tools.refresh.index import File
from tools.refresh.ledger import Held, add, of_log, read

if TYPE_CHECKING:
    from pathlib import Path


def wheel(name: str) -> File:
    _, version, _, tags = parse_wheel_filename(name)
    return File(name, f"https://example.org/{name}", version, tags)


@pytest.mark.parametrize(
    ("tag", "platforms"),
    [
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", {"linux_x86_64"}),
        ("manylinux_2_28_aarch64", {"linux_aarch64"}),
        ("win_amd64", {"win_amd64"}),
        ("macosx_11_0_arm64", {"macosx_arm64"}),
        ("macosx_10_9_universal2", {"macosx_arm64"}),
        ("musllinux_1_2_x86_64", set()),
        ("any", set(drawn_cells.PLATFORMS)),
    ],
)
def test_the_platforms_of_a_wheel(tag: str, platforms: set[str]) -> None:
    python = "py3-none" if tag == "any" else "cp312-cp312"
    assert drawn_cells.on_platforms(wheel(f"a-1.0-{python}-{tag}.whl")) == platforms


def test_the_pythons_of_wheels() -> None:
    tags = ("cp37-cp37m", "cp312-cp312", "cp313-cp313t")
    files = [wheel(f"a-1.0-{tag}-win_amd64.whl") for tag in tags]
    assert drawn_cells.minors(files) == {"3.7", "3.12"}


def test_a_wrong_cell_is_told() -> None:
    right = drawn_cells.Told("", "python", frozenset({"3.8"}), frozenset({"3.8"}))
    assert right.is_right
    assert not drawn_cells.Told("", "python", frozenset({"3.8"}), frozenset()).is_right


def test_the_ledger_counts_the_same_cells_once(tmp_path: Path) -> None:
    path = tmp_path / "held.txt"
    log = [
        "agrees: vllm-releases: vllm 0.33.0: torch, python",
        "change: vllm-releases: vllm 0.34.0: a row of its own",
        "CONTRADICTION: vllm-releases: vllm 0.32.0: torch is ==1 in the table and ==2 in the wheel",
    ]
    for day in ("2026-11-25", "2026-11-26"):
        add(of_log(log, day), path)
    assert read(path) == [
        Held("vllm-releases", "vllm 0.32.0 torch", 1, "2026-11-26", "refreshed", 1),
        Held("vllm-releases", "vllm 0.33.0", 2, "2026-11-26", "refreshed"),
    ]


@pytest.mark.network
@pytest.mark.parametrize("table", [each.table for each in drawn.DRAWABLE])
def test_drawn_rows_are_as_the_index_says(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--table", table, "--count", "3", "--seed", seed()]
    code = drawn.main([*options, "--cache", str(cache(tmp_path))])
    assert code == 0, capsys.readouterr().out
