"""One orchestration of `fix`: what is told, in which order, and that all who ask get the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from fadoctor.interfaces.assistants import answers
from fadoctor.interfaces.commands import run
from fadoctor.interfaces.commands.fix import FixRequest, make_plan
from fadoctor.interfaces.commands.plan import PlanRequest
from fadoctor.interfaces.commands.request import ProgramRequest, known_ids
from fadoctor.model.errors import UsageError
from fadoctor.sources.examine.request import Request
from tests.unit.interfaces.commands.listener import Listener

FACTS = Path(__file__).parents[3] / "golden" / "linux-v100-torch210" / "facts.json"
REQUEST = FixRequest(Request(facts=str(FACTS)), PlanRequest())


def test_an_observer_hears_the_stages_in_order() -> None:
    listener = Listener()
    assert make_plan(REQUEST, listener).plan.actions
    assert listener.told == ["reading and planning", "end of reading and planning"]


def test_ids_that_no_rule_has_are_refused_before_anything_is_planned() -> None:
    request = REQUEST._replace(ignored=lambda knowledge: known_ids("no-such-rule", knowledge))
    with pytest.raises(UsageError, match="no-such-rule"):
        make_plan(request)


def test_programs_and_assistants_get_the_same_plan(tmp_path: Path) -> None:
    plan = make_plan(REQUEST).plan
    program = run.plan(ProgramRequest(facts=str(FACTS)), PlanRequest(), rules=())
    assert (program.actions, program.outcome) == (plan.actions, plan.outcome)
    sent = answers.AssistantRequest(report=FACTS.read_text(encoding="utf-8"))
    told = answers.plan(sent, (), (), tmp_path).document
    assert [each["text"] for each in told["actions"]] == [each.text for each in plan.actions]
