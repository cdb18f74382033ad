"""What a report advises: the planner's answer, and no fix that the facts refute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, plan_quickly
from fadoctor.repair.plan.written.advice_proof import FixProver, Standing
from fadoctor.repair.plan.written.advise import ANSWER, advise, answer_of, solves
from tests.advice.states import enumerated
from tests.golden import cases as golden_cases
from tests.unit.judging.engine.builders import ABSENT, fact_of
from tests.unit.repair.plan.problems import golden, session, with_package, without

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

MISMATCH, HEALTHY = "linux-4090-wheel-mismatch", "linux-a100-healthy"


def advised(name: str, **changes: Any) -> dict[str, Finding]:
    before = foresee(golden(name, **changes), session().knowledge)
    found = advise(before.assessment.findings, before, session(), PlannerRequest())
    return {finding.rule_id: finding for finding in found}


def prove(name: str, rule_id: str, fix: Fix, **changes: Any) -> Standing:
    before = foresee(golden(name, **changes), session().knowledge)
    [finding] = [f for f in before.assessment.findings if f.rule_id == rule_id]
    return FixProver(before, session()).prove(finding, fix).standing


def test_the_answer_of_the_planner_stands_first() -> None:
    fix = advised(MISMATCH)["wheel-torch-mismatch"].fixes[0]
    assert (fix.id, fix.safety) == (ANSWER, Safety.SAFE)
    assert "pip install --force-reinstall --no-deps 'flash-attn @ https://github.com/" in (
        fix.steps[0].text
    )


def test_the_index_of_torch_stands_beside_the_own_one_where_others_come_along() -> None:
    """PyTorch's index has no flash-attn, nor most of what that requires."""
    plan = make_plan(golden(MISMATCH), session(), PlannerRequest())
    index = "https://download.pytorch.org/whl/cu128"
    for option in ("--index-url", "--extra-index-url"):
        action = msgspec.structs.replace(
            plan.actions[0], argv=("pip", "install", option, index), index=index
        )
        [step] = answer_of(msgspec.structs.replace(plan, actions=(action,))).steps
        assert f"pip install {option} {index} 'flash-attn @ " in step.text


def test_check_and_fix_agree_where_nothing_can_be_compiled() -> None:
    """flash-attn for torch 2.8 under torch 2.15: reinstalling would remove it and then fail."""
    host = {"torch__version": "2.15.0", "torch__cuda": "13.0", "torch__requires": {}}
    found = advised(MISMATCH, **host)
    plan = make_plan(golden(MISMATCH, **host), session(), PlannerRequest())
    wanted = [item for action in plan.actions for item in action.requirements]
    for finding in found.values():
        if solves(plan, finding):
            commands = [f for f in finding.fixes if any(step.items for step in f.steps)]
            assert commands
            assert {item for step in commands[0].steps for item in step.items} <= set(wanted)


@pytest.mark.parametrize("name", golden_cases.names())
def test_no_finding_shows_other_packages_than_fix(name: str) -> None:
    environment = golden(name)
    before = foresee(environment, session().knowledge)
    plan = make_plan(environment, session(), PlannerRequest())
    for finding in advise(before.assessment.findings, before, session(), PlannerRequest(), plan):
        assert_agrees(finding, plan_fix=answer_of(plan), is_solved=solves(plan, finding))


@pytest.mark.long
@pytest.mark.slow
def test_no_state_shows_other_packages_than_fix() -> None:
    for environment in enumerated(12):
        before = foresee(environment, session().knowledge)
        plan = make_plan(environment, session(), PlannerRequest())
        for finding in advise(
            before.assessment.findings, before, session(), PlannerRequest(), plan
        ):
            assert_agrees(finding, plan_fix=answer_of(plan), is_solved=solves(plan, finding))


def assert_agrees(finding: Finding, *, plan_fix: Fix, is_solved: bool) -> None:
    """Assert that the first commands of a finding are those of the plan that solves it."""
    packages = (StepKind.INSTALL, StepKind.UNINSTALL)
    commands = [f for f in finding.fixes if any(step.kind in packages for step in f.steps)]
    items = {item for step in plan_fix.steps for item in step.items}
    if is_solved:
        first = {item for step in commands[0].steps if step.kind in packages for item in step.items}
        assert commands[0] == plan_fix or first <= items, finding.rule_id


@pytest.mark.parametrize(
    ("steps", "standing"),
    [
        ((Step(StepKind.INSTALL, "", ("flash-attn==2.8.3.post1",)),), Standing.PROVED),
        ((Step(StepKind.INSTALL, "", ("flash-attn==2.7.3",)),), Standing.REFUTED),  # it is there
        ((Step(StepKind.INSTALL, "", ("torch==2.9.1",)),), Standing.REFUTED),
        ((Step(StepKind.UNINSTALL, "", ("torch",)),), Standing.REFUTED),
        ((Step(StepKind.ADVICE, "Look around."),), Standing.PROSE),
        ((Step(StepKind.SET, "", ("MAX_JOBS=2",)),), Standing.REFUTED),  # the finding stays
        (
            (Step(StepKind.SETTING, "", effects={"config.attention": "sdpa"}),),
            Standing.PROVED,  # it goes around it
        ),
    ],
)
def test_how_a_fix_comes_out(steps: tuple[Step, ...], standing: Standing) -> None:
    assert prove(MISMATCH, "wheel-torch-mismatch", Fix("one", "One", steps=steps)) is standing


def test_an_attention_that_does_not_run_either_is_not_advised() -> None:
    """torch 2.6 has no code for an RTX 5090 at all: its own attention helps nobody."""
    ids = {fix.id for fix in advised("linux-5090-torch26")["kernel-image-missing-fa2"].fixes}
    assert "use-sdpa" not in ids


def test_what_another_gpu_needs_is_not_removed() -> None:
    found = advised("linux-v100-and-a100").values()
    items = [item for f in found for fix in f.fixes for step in fix.steps for item in step.items]
    assert "flash-attn" not in items
    removal = Fix("one", "One", steps=(Step(StepKind.UNINSTALL, "", ("flash-attn",)),))
    assert prove("linux-v100-and-a100", "weaker-gpu-visible", removal) is Standing.REFUTED


def test_a_report_does_not_wait_for_a_plan_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where hardly anything is known the search went on for minutes, and `check` with it."""
    environment = golden(MISMATCH)
    before = foresee(environment, session().knowledge)
    quick = plan_quickly(before, session(), PlannerRequest())
    assert quick is not None
    assert quick.actions == make_plan(environment, session(), PlannerRequest()).actions
    monkeypatch.setattr("fadoctor.repair.plan.planner.QUICK_LIMIT", 2)
    assert plan_quickly(before, session(), PlannerRequest()) is None
    assert advised(MISMATCH)["wheel-torch-mismatch"].fixes


def test_a_fix_stands_once_and_the_first_behind_no_other() -> None:
    """A part of the planner's answer stood before it, began with "Or", and came again."""
    environment = with_package(without(golden(HEALTHY), "flash_attn"), "xformers", "0.0.32.post2")
    facts = {"xformers.binary.file": ABSENT, "xformers.loads": ABSENT, "xformers.extension": ABSENT}
    new = {name: fact_of(value) for name, value in facts.items()}
    environment = msgspec.structs.replace(environment, facts={**environment.facts, **new})
    before = foresee(environment, session().knowledge)
    [finding] = [
        each
        for each in advise(before.assessment.findings, before, session(), PlannerRequest())
        if each.rule_id == "xformers-no-cuda-ext"
    ]
    ids = [fix.id for fix in finding.fixes]
    assert len(ids) == len(set(ids))
    assert not finding.fixes[0].title.startswith("Or ")


def test_what_a_package_requires_is_advised_as_it_is_planned() -> None:
    environment = with_package(
        golden(HEALTHY), "llamafactory", "0.9.4", {"trl": "<=0.22.0,>=0.8.6"}
    )
    before = foresee(environment, session().knowledge)
    plan = make_plan(environment, session(), PlannerRequest())
    [action] = [action for action in plan.actions if action.kind.is_run]
    assert action.findings == ("requirement-unmet",)
    found = {
        each.rule_id: each.fixes[0]
        for each in advise(before.assessment.findings, before, session(), PlannerRequest(), plan)
    }
    assert found["requirement-unmet"].steps[0].items == action.requirements


def test_to_hide_a_gpu_loses_nothing_on_the_others() -> None:
    """The cells of the GPU that is hidden are what is given up: that is said, and no harm."""
    before = foresee(golden("linux-v100-and-a100"), session().knowledge)
    [weaker] = [f for f in before.assessment.findings if f.rule_id == "weaker-gpu-visible"]
    assert weaker.fixes[0].id == "hide-this-gpu"
    assert FixProver(before, session()).prove(weaker, weaker.fixes[0]).standing is Standing.PROVED


def test_a_removal_is_no_part_of_an_answer_that_puts_back() -> None:
    """xformers without its library: `check` said to remove it, `fix` to install it again."""
    release = {"version": "0.0.30", "distribution": "xformers", "editable": False}
    lacking = {"extension": ABSENT, "loads": ABSENT, "requires": {"torch": "==2.7.0"}}
    name, facts = "linux-a100-healthy", golden("linux-a100-healthy").facts
    torch: dict[str, Any] = {"torch__version": "2.7.0", "torch__cuda": "12.6"}
    torch |= {"triton__version": "3.3.0", "torch__requires": {"triton": "==3.3.0"}}
    there = dict(facts["packages.installed"].value)  # type: ignore[union-attr, arg-type] # a golden fact
    there |= {"torch": "2.7.0", "triton": "3.3.0", "xformers": "0.0.30"}
    changes = {f"xformers__{key}": value for key, value in {**release, **lacking}.items()}
    found = advised(name, packages__installed=there, **torch, **changes)
    first, *others = found["xformers-no-cuda-ext"].fixes
    assert first.id == ANSWER
    assert "xformers==0.0.30" in {item for step in first.steps for item in step.items}
    assert "remove-xformers" in {fix.id for fix in others}
