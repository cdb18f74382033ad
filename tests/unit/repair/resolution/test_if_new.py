"""Commands for an environment that nobody has listed: what they do where nothing is there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.plan import PlanOutcome
from fadoctor.repair.resolution.if_new import IF_ALONE, IF_NEW
from tests.unit.repair.resolution.test_held_open import planned_for

if TYPE_CHECKING:
    from pathlib import Path

TRAINING = "pip install accelerate peft\npip install flash-attn --no-build-isolation\n"
ADVICE = "Then ask for torch==2.8.0 and flash-attn @ https://"


def told(folder: Path, text: str, gpu: str = "A100") -> list[str]:
    plan = planned_for(folder, text, gpu)
    assert not [edit for edit in plan.edits if edit.diff]
    assert plan.outcome is PlanOutcome.NOTHING
    return [note.removeprefix(IF_NEW) for note in plan.notes if note.startswith(IF_NEW)]


def test_the_torch_that_would_come_along_is_judged(tmp_path: Path) -> None:
    [note] = told(tmp_path, TRAINING)
    assert note.startswith("Driver 550.90 is too old: torch 2.")
    assert ADVICE in note


@pytest.mark.parametrize(
    "text",
    [
        "pip install datasets evaluate\n",  # nothing requires torch
        "pip install torch==2.8.0\npip install accelerate peft\n",
        "pip install vllm==0.10.1 transformers==4.55.4\n",
    ],
)
def test_what_is_right_either_way_stays_silent(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text) == []


def test_a_release_that_a_pin_fixes_is_no_question(tmp_path: Path) -> None:
    """Regression: whichever torch is there, vLLM 0.5.4 replaces it by 2.4.0."""
    plan = planned_for(tmp_path, "pip install vllm==0.5.4 transformers==4.43.4\n")
    assert not any("which torch is here" in note for note in plan.notes)
    assert not any(note.startswith(IF_NEW) for note in plan.notes)
    alone = planned_for(tmp_path, "pip install --no-deps vllm==0.5.4\n")
    assert any("which torch is here" in note for note in alone.notes)


def test_what_comes_newest_beside_that_torch_is_bounded(tmp_path: Path) -> None:
    notes = told(tmp_path, "pip install vllm==0.5.4\n")
    assert notes[-1].endswith("Then ask for transformers==4.45.2")  # and vllm stays


def test_the_order_of_the_commands_counts(tmp_path: Path) -> None:
    early = "pip install ninja\npip install flash-attn==2.8.3 --no-build-isolation\n"
    [note] = told(tmp_path, f"{early}pip install torch==2.8.0\n")
    assert "built before torch is installed" in note
    assert note.endswith("build.sh:4:13 above that one")
    assert ADVICE in told(tmp_path, f"{early}pip install transformers==4.55.4\n")[-1]


def test_an_environment_of_its_own_is_planned_for(tmp_path: Path) -> None:
    """There the same is an error, with one command that installs both."""
    plan = planned_for(
        tmp_path, f"python3 -m venv env\npip install flash-attn --no-build-isolation\n{TRAINING}"
    )
    assert plan.outcome is PlanOutcome.REPAIRS
    [diff] = [edit.diff for edit in plan.edits if edit.diff]
    assert "+pip install torch==2.8.0 https://" in diff
    assert not any(note.startswith(IF_NEW) for note in plan.notes)


def test_what_an_unread_line_may_bound_is_told_for_the_rest(tmp_path: Path) -> None:
    text = "pip install torch==2.6.0\npip install -e .\npip install vllm==0.8.5\n"
    [note] = [each for each in planned_for(tmp_path, text).notes if each.startswith(IF_ALONE)]
    assert note.endswith("Then ask for transformers==4.52.4")
