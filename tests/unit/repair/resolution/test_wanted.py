"""Where a plan goes below what files ask for, and what stays for another torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.repair.resolution.test_lines import install
from tests.unit.repair.resolution.test_said_elsewhere import lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("asked", "is_said"), [(">=0.17", True), ("==0.17.0", True), (">=0.10", False), ("", False)]
)
def test_a_release_below_the_bound_of_a_file_is_said(
    tmp_path: Path, asked: str, *, is_said: bool
) -> None:
    (tmp_path / "requirements.txt").write_text(f"peft{asked}\n")
    _, found = lines(tmp_path, "requirements.txt", install("peft==0.16.0"))
    said = f"{tmp_path}/requirements.txt:1:1 asks for peft{asked}: 0.16.0 is older than that"
    assert (said in found.notes) is is_said


@pytest.mark.parametrize(("torch", "is_said"), [("2.5.1", True), ("2.3.1", False)])
def test_an_index_for_another_torch_is_said(tmp_path: Path, torch: str, *, is_said: bool) -> None:
    (tmp_path / "Dockerfile").write_text(
        f"FROM python:3.11\nRUN pip install torch=={torch} peft==0.17.0\n"
        "RUN pip install flashinfer -i https://flashinfer.ai/whl/cu121/torch2.3/\n"
    )
    _, found = lines(tmp_path, "Dockerfile", install("peft==0.18.0"))
    assert any("flashinfer for torch 2.3, but torch 2.5.1" in e for e in found.notes) is is_said
