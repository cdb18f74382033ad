"""Releases that an installer refuses beside what the files ask for are not chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.plan.choices.ruled_out import RuledOut
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.resolution.judge import plan_base
from tests.unit.repair.plan.problems import session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_judge import on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("numpy", "vllm"), [("<2", "0.14.0"), (">=1.24,<2", "0.14.0"), (">=1.24", "0.19.1")]
)
def test_a_server_goes_with_the_bounds_of_a_file(tmp_path: Path, numpy: str, vllm: str) -> None:
    """From 0.14.1 on vLLM brings an opencv that needs NumPy 2."""
    text = f"torch>=2.6.0\nvllm>=0.8.5\nnumpy{numpy}\n"
    base = plan_base(on(tmp_path, text, "H100", "570.133"), session().knowledge)
    plan = make_plan(base, session(), PlannerRequest())
    assert changed(plan)["vllm"] == vllm


def test_where_no_release_may_come_none_is_left_out(tmp_path: Path) -> None:
    """Then the bound is what is wrong, and `requirements-contradict` says so."""
    environment = on(tmp_path, "vllm\nnumpy<1.2\n", "H100", "570.133")
    every = session().candidates.listed.every("vllm")
    ruled_out = RuledOut(environment, session().matrix)
    newest = [each for each in every if each.version == "0.19.1"]
    assert ruled_out.without(newest, lambda: newest) == newest
    assert ruled_out.without([], lambda: every) == []
