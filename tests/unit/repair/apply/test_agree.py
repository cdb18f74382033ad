"""A plan is made anew until the installer does what it says, and learns from each refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.plan import Answer, Verification
from fadoctor.repair.apply.agree import ROUNDS, agreed_plan
from fadoctor.repair.plan.planner import PlannerRequest
from tests.unit.repair.plan.problems import golden, session

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.repair.apply.agree import Agreed

BLACKWELL = "linux-5090-torch26"
NEEDS = {"torchtext": {"torch": "==2.6.0"}}


def with_torchtext() -> Environment:
    """Return an environment with a package that pins torch and has no table of releases."""
    before = golden(BLACKWELL).facts["packages.installed"].value  # type: ignore[union-attr]
    there = dict(before, torchtext="0.18.0")  # type: ignore[arg-type]
    return golden(BLACKWELL, packages__installed=there)


class Asked:
    """An installer that answers by a function, and keeps the plans it was shown."""

    def __init__(self, answer: Callable[[Plan], Verification]) -> None:
        self.answer = answer
        self.plans: list[Plan] = []

    def __call__(self, plan: Plan) -> Verification:
        self.plans.append(plan)
        return self.answer(plan)


def agreed(asked: Asked) -> Agreed:
    return agreed_plan(with_torchtext(), session(), PlannerRequest(requirements=NEEDS), asked)


def changes(plan: Plan) -> dict[str, str]:
    return {change.distribution: change.after for change in plan.changes}


def refuses(text: str, name: str, version: str = "") -> Callable[[Plan], Verification]:
    """Return an installer that refuses every plan with a release."""

    def answer(plan: Plan) -> Verification:
        there = changes(plan).get(name)
        bad = there is not None and version in ("", there)
        return Verification(Answer.REFUSED if bad else Answer.RESOLVES, "uv", detail=text)

    return answer


def test_what_no_installer_can_move_stays_and_the_rest_is_planned_anew() -> None:
    asked = Asked(refuses("torchtext 0.18.0 requires torch==2.6.0", "torchtext"))
    found = agreed(asked)
    assert "torchtext" in changes(asked.plans[0])
    assert "torchtext" not in changes(found.plan)
    assert found.lessons.stuck == {"torchtext"}
    assert found.plan.verification is not None
    assert found.plan.verification.answer is Answer.RESOLVES
    assert any("planned again once" in note for note in found.plan.notes)


@pytest.mark.long
def test_releases_that_are_refused_together_are_not_planned_again() -> None:
    first = Asked(refuses("", "nothing"))
    agreed(first)
    torch = changes(first.plans[0])["torch"]
    asked = Asked(refuses(f"no version of torch=={torch}", "torch", torch))
    found = agreed(asked)
    assert found.lessons.refused
    assert changes(found.plan).get("torch") != torch
    assert len(asked.plans) <= ROUNDS


@pytest.mark.long
def test_an_installer_that_refuses_everything_has_the_last_word() -> None:
    asked = Asked(lambda _: Verification(Answer.REFUSED, "pip", detail="no"))
    found = agreed(asked)
    assert len(asked.plans) <= ROUNDS
    assert found.plan.verification is not None
    assert found.plan.verification.answer is Answer.REFUSED


@pytest.mark.long
def test_a_silent_step_back_is_no_agreement() -> None:
    """sglang 0.5.23 became 0.5.2 under «Afterwards no problem remains»."""
    asked = Asked(lambda _: Verification(Answer.RESOLVES, "uv", ("torchtext 0.4.0",)))
    found = agreed(asked)
    assert found.plan.verification is not None
    assert found.plan.verification.answer is Answer.DIFFERS
    assert "torchtext 0.18.0 to 0.4.0" in found.plan.verification.detail


@pytest.mark.long
def test_a_pick_of_the_installer_that_a_rule_refuses_is_decided_by_the_plan() -> None:
    """The installer takes the newest; what fails with it is named in the next plan."""
    asked = Asked(lambda _: Verification(Answer.RESOLVES, "uv", ("triton 3.0.0",)))
    found = agreed(asked)
    assert found.plan.verification is not None
    assert found.plan.verification.answer is Answer.DIFFERS
    assert len(asked.plans) > 1


def test_without_an_answer_the_first_plan_is_returned() -> None:
    asked = Asked(lambda _: Verification(Answer.UNREACHABLE, "pip", detail="no network"))
    agreed(asked)
    assert len(asked.plans) == 1
