"""The list of cells: it fits a terminal."""

from __future__ import annotations

import pytest

from fadoctor.model.smoke import CellKey, CellList, ListedCell
from fadoctor.model.verdict import Backend, Dtype
from fadoctor.report.smoke_list import render
from fadoctor.report.style import Style

CASES = ("full", "causal", "hdim128", "hdim256", "mixed", "mixed-autocast", "fp32-autocast")
_RUNS = {"full": "default"}
LISTED = CellList(
    "cpu",
    tuple(
        ListedCell(
            CellKey(Backend.SDPA_FLASH, dtype, case), "default" if case == "full" else "thorough"
        )
        for dtype in (Dtype.BF16, Dtype.FP16)
        for case in CASES
    ),
)


@pytest.mark.parametrize("width", [50, 60, 80, 160])
def test_no_line_is_wider_than_the_terminal_and_no_case_is_lost(width: int) -> None:
    lines = render(LISTED, Style(width=width)).splitlines()
    assert [line for line in lines if len(line) > max(width, 60)] == []
    words = " ".join(lines).split()
    assert [case for case in CASES if case not in words] == []
    assert sum(line.startswith("  sdpa-flash  bf16 fp16") for line in lines) == 1
