"""What keeps the releases that a plan takes back is said before its first step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Known
from fadoctor.model.plan_words import KEEPING, UNCHANGED
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.written.keeping import unchanged_notes
from fadoctor.report.plan_text import render
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan
from tests.unit.repair.plan.written.test_advice import LEFT

if TYPE_CHECKING:
    from fadoctor.model.plan import Plan

CU118 = {
    "torch.version": "2.4.0+cu118",
    "torch.build": "cu118",
    "torch.cuda": "11.8",
    "triton.version": "3.0.0",
}


def planned(want: str, driver: str) -> Plan:
    """Return what is planned for a wish beside a torch for CUDA 11."""
    there = start("torch 2.6 with vision and audio", ("Tesla T4", "7.5", driver), "3.10")
    told = {name: Known(value, "test") for name, value in CU118.items()}
    return plan(msgspec.structs.replace(there, facts={**there.facts, **told}), want=(want,))


def test_a_newer_driver_keeps_what_a_plan_takes_back() -> None:
    """Regression: torch went back by four releases, and the driver was named after all steps."""
    found = planned("vllm", "515.65.01")
    assert any(c.distribution == "torch" and c.after.startswith("2.0") for c in found.changes)
    [note] = [each for each in found.notes if each.startswith(KEEPING)]
    assert note.startswith(f"{KEEPING}with NVIDIA driver 525.60.13 or newer torch 2.")
    assert "vllm 0." in note
    text = render(found)
    assert text.index(f"First consider {KEEPING}") < text.index("\n1. ")


@pytest.mark.parametrize(
    ("want", "driver"),
    [
        ("vllm<0.3", "515.65.01"),  # what was asked for is of that time
        ("flash-attn", "550.54.15"),
    ],
)
def test_nothing_is_said_where_nothing_keeps_it_or_nothing_goes_back(
    want: str, driver: str
) -> None:
    assert not any(note.startswith(KEEPING) for note in planned(want, driver).notes)


def test_what_no_step_changes_about_a_gpu_is_said_before_the_first() -> None:
    """Regression: torch was moved for a server that supports such a GPU in no release."""
    gpu = msgspec.structs.replace(LEFT, subject="gpu[1]", message="No code for Tesla P40.")
    moved = (Choice("torch", ChoiceKind.INSTALL, "2.8.0", "2.8.0+cu126", "torch==2.8.0+cu126"),)
    said = tuple(unchanged_notes((gpu, LEFT, gpu), moved))
    assert said == (f"{UNCHANGED}No code for Tesla P40.",)
    assert not tuple(unchanged_notes((gpu,), ()))
    found = planned("vllm", "515.65.01")
    text = render(msgspec.structs.replace(found, notes=(*found.notes, *said)))
    assert text.index("No step changes this: No code") < text.index("\n1. ")
