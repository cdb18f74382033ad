"""A torch for AMD's GPUs beside one of NVIDIA: `fix` says what `check` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, session_of
from fadoctor.report.plan_text import render
from tests.hosts import recording

if TYPE_CHECKING:
    from pathlib import Path

INSTALLED = ["torch==2.8.0", "triton==3.4.0", "sympy==1.14.0"]


def test_it_is_replaced_by_the_same_release_with_cuda(tmp_path: Path) -> None:
    """It said that no known release helps, where `check` had the two commands that do."""
    environment = recording.read("linux-a100-rocm-torch", tmp_path)
    plan = make_plan(environment, session_of(load_knowledge()), PlannerRequest())
    uninstall, install = plan.actions
    assert uninstall.requirements == ("torch", "pytorch-triton-rocm")
    assert [text.partition("+")[0] for text in install.requirements] == INSTALLED
    assert not plan.proof.errors
    assert not plan.proof.missed
    assert "rocm" in uninstall.undo
    text = render(plan)
    assert "Impossible" not in text
    assert "By hand" not in text
