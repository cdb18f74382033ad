"""A torch for AMD's GPUs beside one of NVIDIA: `fix` says what `check` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.matrix.load import load_knowledge
from fadoctor.plan.planner import Question, make_plan, session_of
from fadoctor.report.plan_text import render
from tests.hosts import recording

if TYPE_CHECKING:
    from pathlib import Path


def test_what_cannot_be_planned_is_told(tmp_path: Path) -> None:
    """It said that no known release helps, where `check` had the two commands that do."""
    environment = recording.read("linux-a100-rocm-torch", tmp_path)
    text = render(make_plan(environment, session_of(load_knowledge()), Question()))
    assert "No known release helps" not in text
    assert "pip uninstall torch pytorch-triton-rocm" in text
    assert "pip install torch==2.8.0" in text
