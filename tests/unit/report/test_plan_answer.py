"""What a plan says of itself agrees with what stands below it, in each form."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.environment import Target
from fadoctor.model.plan import Action, ActionKind, Change, Plan, PlanOutcome, Proof
from fadoctor.model.plan_words import change_text
from fadoctor.report import markdown, plan_text
from fadoctor.report.html import page
from fadoctor.report.plan_answer import answer_text, left_over
from fadoctor.report.style import Style

if TYPE_CHECKING:
    from collections.abc import Callable

_INSTALL = Action(
    ActionKind.INSTALL, "install torch==2.8.0", argv=("pip", "install", "torch==2.8.0")
)
_UNSET = Action(ActionKind.UNSET, "unset CUDA_VISIBLE_DEVICES", env={"CUDA_VISIBLE_DEVICES": ""})
_BY_HAND = Action(ActionKind.ADVICE, "Restart the machine.", findings=("driver-too-old",))
_LEFT = {
    "errors": "driver-too-old",
    "by_setting": "gpu-too-old-fa2",
    "missed": "fa2 on gpu[0] fails",
    "lost": "gpu[0] xformers fp16",
    "requirements": "vllm requires torch",
    "unknown": "flex: nobody knows",
}


def plan(
    outcome: PlanOutcome, *actions: Action, notes: tuple[str, ...] = (), left: tuple[str, ...] = ()
) -> Plan:
    target = Target(kind="environment", label="/opt/venv", reason="named")
    proof = Proof(**{name: (_LEFT[name],) for name in left})
    return Plan(outcome, target, "pip", actions=actions, proof=proof, notes=notes)


PLANS = [
    plan(outcome, *actions, left=left)
    for outcome, actions, left in product(
        PlanOutcome,
        ((), (_INSTALL,), (_UNSET,), (_BY_HAND,), (_INSTALL, _BY_HAND)),
        ((), *((name,) for name in _LEFT), ("errors", "unknown"), ("by_setting", "unknown")),
    )
]


@pytest.mark.parametrize("render", [plan_text.render, markdown.render, page.render])
def test_what_is_said_to_be_listed_is_listed(render: Callable[[Plan], str]) -> None:
    for each in PLANS:
        text = " ".join(render(each).replace("\\", "").split())
        if "could not be" in answer_text(each):
            assert all(item in text for item in each.proof.unknown), each
        for name, item in _LEFT.items():
            if getattr(each.proof, name):
                assert item in text, each
        if "by hand" in answer_text(each):
            assert _BY_HAND.text in text


def test_one_line_points_at_nothing_below() -> None:
    for each in PLANS:
        line = plan_text.render(each, Style(quiet=True))
        assert line.count("\n") == 1
        assert "below" not in line
        if _UNSET in each.actions:
            assert "CUDA_VISIBLE_DEVICES" in line


def test_what_is_done_by_hand_alone_is_no_repair_of_ours() -> None:
    """It said that "afterwards something is still wrong", and listed nothing that is."""
    text = plan_text.render(plan(PlanOutcome.PARTIAL, _BY_HAND), Style())
    assert "still wrong" not in text
    assert "Manual steps are listed below" in text


def test_an_installer_is_named_only_where_it_is_run() -> None:
    assert "1 step. " in plan_text.render(plan(PlanOutcome.REPAIRS, _UNSET), Style())
    assert "1 step for pip. " in plan_text.render(plan(PlanOutcome.REPAIRS, _INSTALL), Style())


def test_nothing_to_repair_is_hedged_where_something_was_not_seen() -> None:
    assert answer_text(plan(PlanOutcome.NOTHING)) == "Nothing to repair."
    unseen = plan(PlanOutcome.NOTHING, notes=("7 rules could not be decided",))
    assert answer_text(unseen) == "No known problem needs repair."
    assert "7 rules could not be decided." in plan_text.render(unseen, Style(quiet=True))


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("most rules, 400 of 500, could not be decided: `fadoctor check` says why", "most rules"),
        ("no installer was asked whether a==1 can be had beside the others", "no installer"),
    ],
)
def test_nothing_found_is_no_clean_bill_where_little_was_proved(note: str, said: str) -> None:
    answer = answer_text(plan(PlanOutcome.NOTHING, notes=(note,)))
    assert said in answer
    assert "needs repair" not in answer


@pytest.mark.parametrize(
    ("outcome", "note", "said"),
    [
        (PlanOutcome.NOTHING, "an installer decides which torch comes. It is too new", "the files"),
        (PlanOutcome.REPAIRS, "an installer decides which torch comes. It is too new", "no rule"),
        (PlanOutcome.REPAIRS, "7 rules could not be decided: `fadoctor check` says why", "no rule"),
        (PlanOutcome.REPAIRS, "the download is large", "Afterwards no problem remains"),
    ],
)
def test_what_stays_open_is_not_called_clean(outcome: PlanOutcome, note: str, said: str) -> None:
    """It said "no problem remains: all rules were checked" above what was not."""
    actions = () if outcome is PlanOutcome.NOTHING else (_INSTALL,)
    found = msgspec.structs.replace(plan(outcome, *actions), notes=(note,))
    assert said in answer_text(found)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("", "2.8.0", "torch 2.8.0"),
        ("2.6.0", "", "torch 2.6.0 removed"),
        ("2.6.0", "2.8.0", "torch 2.6.0 -> 2.8.0"),
        ("2.8.3", "2.8.3", "torch 2.8.3 (another build)"),
    ],
)
def test_changes(before: str, after: str, said: str) -> None:
    assert change_text(Change("torch", before, after)) == said


def test_the_answer_is_in_the_first_lines_whatever_is_assumed() -> None:
    """Five options were five lines before it."""
    assumed = ("--gpu H100", "--driver 550.54.15", "--glibc 2.28", "--python-version 3.12")
    found = msgspec.structs.replace(plan(PlanOutcome.REPAIRS, _INSTALL), assumed=assumed)
    lines = plan_text.render(found, Style(width=80)).splitlines()
    assert "1 step for pip." in "".join(lines[:4])


def test_verbose_adds_every_change_and_what_a_file_is_known_by() -> None:
    install = msgspec.structs.replace(_INSTALL, sha256="ab" * 32, index="https://example.org/cu128")
    changed = msgspec.structs.replace(
        plan(PlanOutcome.REPAIRS, install), changes=(Change("torch", "2.6.0", "2.8.0"),)
    )
    whole = plan_text.render(changed, Style(verbose=True))
    assert f"   sha256:  {'ab' * 32}\n" in whole
    assert "   index:   https://example.org/cu128\n" in whole
    assert "All that changes:\n  - torch 2.6.0 -> 2.8.0\n" in whole
    short = plan_text.render(changed)
    assert "sha256" not in short
    assert "All that changes" not in short


def test_a_reason_is_said_once_for_all_that_it_is_given_for() -> None:
    proof = Proof(unknown=("fa2: no tag", "flex: no tag", "triton: a: b", "xformers"))
    assert left_over(proof) == {
        "Cannot be decided": ("xformers", "fa2, flex: no tag", "triton: a: b")
    }


def test_no_search_of_releases_is_claimed_that_was_not_made() -> None:
    """Seen: "No known release helps" of a name in a traceback, which a newer diffusers repairs."""
    assert answer_text(plan(PlanOutcome.IMPOSSIBLE, left=("errors",))) == (
        "No command that fadoctor could run repairs this."
    )
    assert answer_text(plan(PlanOutcome.IMPOSSIBLE, left=("missed",))) == "No known release helps."
