"""A torch for AMD's GPUs beside one of NVIDIA: `fix` says what `check` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, session_of
from fadoctor.report.plan_text import render
from fadoctor.sources.logs.pasted_text import read_text
from tests.hosts import recording
from tests.unit.repair.plan.problems import plan, session

if TYPE_CHECKING:
    from pathlib import Path

INSTALLED = ["torch==2.8.0", "triton==3.4.0", "sympy==1.14.0"]


def test_it_is_replaced_by_the_same_release_with_cuda(tmp_path: Path) -> None:
    """It said that no known release helps, where `check` had the two commands that do."""
    environment = recording.read("linux-a100-rocm-torch", tmp_path)
    made = make_plan(environment, session_of(load_knowledge()), PlannerRequest())
    uninstall, install = made.actions
    assert uninstall.requirements == ("torch", "pytorch-triton-rocm")
    assert [text.partition("+")[0] for text in install.requirements] == INSTALLED
    assert not made.proof.errors
    assert not made.proof.missed
    assert "rocm" in uninstall.undo
    text = render(made)
    assert "Impossible" not in text
    assert "By hand" not in text


NAVI_22 = """Linux x86_64, Python 3.12.4
  Marketing Name:          AMD Radeon RX 6700 XT
  Name:                    gfx1031
$ pip list
Package     Version
----------- ------------
torch       2.9.1+rocm6.4
torchvision 0.24.1+rocm6.4
"""


def test_a_chip_whose_relative_has_code_gets_the_variable_and_no_other_torch() -> None:
    """Regression: only a log got the variable, and the plan did not see what it does."""
    found = plan(read_text(NAVI_22.encode(), "paste", session().knowledge))
    assert [action.env for action in found.actions] == [{"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}]
    assert not found.changes
    assert not found.proof.errors
