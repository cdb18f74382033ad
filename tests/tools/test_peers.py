"""The comparison with other tools: what they print is understood, and the page is complete."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.peers import compare, tools
from bench.peers.cases import CASES
from bench.peers.planted import environ_of, plant
from bench.peers.real import Times

ROOT = Path(__file__).parents[2]
TOOL = {each.name: each for each in tools.TOOLS}
PRINTED = {
    "rigsolve": "[FAIL] driver 550.54 is below the 580 floor for CUDA 13.0\nfix: update\n",
    "env-doctor": "\u2705 driver\n    \u274c CRITICAL: torch uses CUDA 13.0, driver 550\n"
    "\u274c  jax is NOT installed.\n",
    "cuda-doctor": json.dumps({
        "diagnoses": [{"code": "D003", "title": "CUDA unavailable", "summary": "the driver"}],
        "issues": [{"severity": "INFO", "code": "X", "title": "t", "description": "d"}],
    }),
    "pip check": "torch 2.8.0 has requirement triton==3.4.0, but you have triton 3.3.0.\n"
    "WARNING: something\n",
    "fadoctor": json.dumps({"findings": [
        {"severity": "error", "rule_id": "r", "title": "t", "message": "m"},
        {"severity": "note", "rule_id": "r", "title": "t", "message": "m"},
    ]}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TOOL))
def test_of_what_a_tool_prints_the_complaint_is_found_and_nothing_else(name: str) -> None:
    assert len(list(TOOL[name].complaints(PRINTED[name]))) == 1


def test_every_tool_and_every_fault_is_covered_by_somebody() -> None:
    named = {name for case in CASES for name in case.covered}
    assert named == set(TOOL)
    assert [case.name for case in CASES if case.fault and not case.covered] == []
    assert [case.name for case in CASES if not case.fault] == ["healthy"]


def test_the_page_has_every_table_and_no_markup_of_others() -> None:
    said = {
        name: tools.Said(("about <b>triton</b> | in /tmp/planted/x-y/z",), 1, 0.5) for name in TOOL
    }
    row = compare.Row("x", "triton is wrong", "triton", ("rigsolve",), said)
    times = Times("torch==1", {"fadoctor": 0.5, "rigsolve": 1.0})
    versions = dict.fromkeys(TOOL, "1.0")
    page = compare.page_of(compare.Compared("2026-11-23", "3.11", versions, (row,), times))
    assert "<!--" not in page
    assert "| triton is wrong | **named** | **named** |" in page
    assert "| rigsolve | 1 of 1 | 1 of 1 | 0 |" in page
    assert "| rigsolve | 2.0 |" in page
    assert "/tmp" not in page
    assert "<b>" not in page


def test_the_page_of_the_documentation_is_of_these_cases() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    faults = [case.fault or "nothing" for case in CASES]
    assert re.findall(r"^\| (.+?) \|(?: silent|.*named| \d+ compl)", page, re.MULTILINE) == faults


def test_a_planted_environment_is_what_it_says(tmp_path: Path) -> None:
    [case] = [each for each in CASES if each.name == "two toolkits disagree"]
    plant(case, tmp_path)
    environ = environ_of(case, tmp_path)
    assert shutil.which("nvcc", path=environ["PATH"]) == str(tmp_path / "cuda-12.4/bin/nvcc")
    for arguments, answer in (
        (["--query-gpu=index,name,memory.total", "--format=csv,noheader,nounits"],
         "0, NVIDIA A100-SXM4-80GB, 81920"),
        (["--query-gpu=memory.total,compute_cap", "--format=csv,noheader"], "81920 MiB, 8.0"),
    ):  # fmt: skip
        argv = [str(tmp_path / "bin" / "nvidia-smi"), *arguments]
        said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
        assert said.stdout.strip() == answer
    code = "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"
    python = tmp_path / "env" / "bin" / "python"
    said = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True,
                          timeout=60)  # fmt: skip
    assert said.stdout == "2.8.0+cu128 12.8 True\n"
