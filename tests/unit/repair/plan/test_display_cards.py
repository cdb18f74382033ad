"""A card that drives a display moves no package of those that compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.choices.build import architectures
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, session_of
from tests.golden.cases import environment_of
from tests.hosts import recording

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = ("linux-4090-and-gt1030", "linux-4090-and-t400", "linux-a6000-and-p2000")


@pytest.mark.parametrize("name", PAIRS)
def test_no_package_is_moved(name: str, tmp_path: Path) -> None:
    knowledge = load_knowledge()
    report = diagnose(recording.read(name, tmp_path), knowledge)
    environment = environment_of(report)
    plan = make_plan(environment, session_of(knowledge), PlannerRequest())
    assert {action.kind for action in plan.actions} <= {ActionKind.SET, ActionKind.ADVICE}
    assert architectures(environment) == ("8.0",)
