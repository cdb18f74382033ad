"""Plans for commands in sequence: the open name that takes torch away is bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.repair.resolution.test_held_open import planned_for

if TYPE_CHECKING:
    from pathlib import Path

TORCH = "pip install torch==2.2.1 torchvision==0.17.1 'numpy<2'\n"


@pytest.mark.parametrize(
    ("later", "line"),
    [
        (
            "pip install peft==0.11.0 bitsandbytes",
            '+pip install peft==0.11.0 "bitsandbytes<0.48.0"',
        ),
        ("pip install -U xformers", "+pip install -U xformers==0.0.25"),
    ],
)
def test_the_line_that_takes_torch_away_is_bound(tmp_path: Path, later: str, line: str) -> None:
    """Regression: no known problem was said to need repair."""
    plan = planned_for(tmp_path, f"{TORCH}{later}\n")
    [diff] = [edit.diff for edit in plan.edits if edit.diff]
    assert f"{line}\n" in diff
    assert "torch==2.2.1" not in "".join(each for each in diff.splitlines() if each[:1] in "+-")


def test_what_is_compiled_too_early_is_left_to_hands(tmp_path: Path) -> None:
    text = "pip install torch\npip install flash-attn\npip install vllm==0.7.2\n"
    plan = planned_for(tmp_path, text)
    assert any("torch==2.5.1" in action.text for action in plan.actions)


def test_an_index_that_lacks_the_release_is_removed(tmp_path: Path) -> None:
    """Regression: a release for another torch than those of the index was asked of it."""
    text = (
        "pip install -U torch\n"
        "pip install -U xformers --index-url https://download.pytorch.org/whl/cu128\n"
    )
    plan = planned_for(tmp_path, text)
    added = [e for edit in plan.edits for e in edit.diff.splitlines() if e.startswith("+pip")]
    assert added == ["+pip install -U torch==2.6.0", "+pip install -U xformers==0.0.29.post3"]


CLOSED = "pip install torch torchvision --index-url https://download.pytorch.org/whl/cu121\n"


def test_what_came_with_a_torch_that_is_replaced_stays(tmp_path: Path) -> None:
    """Regression: torchvision was taken to come for the torch that a later command brings."""
    plan = planned_for(tmp_path, f"{CLOSED}pip install xformers==0.0.23.post1\n")
    [diff] = [edit.diff for edit in plan.edits if edit.diff]
    assert "+pip install torch torchvision==0.16.2 --index-url" in diff
    assert not any("is older than that" in note for note in plan.notes)  # nobody asked for it


def test_what_came_with_a_torch_that_stays_is_well(tmp_path: Path) -> None:
    plan = planned_for(tmp_path, f"{CLOSED}pip install xformers==0.0.29.post1\n")
    assert not plan.edits


def test_a_library_that_a_later_command_moves_is_named_there(tmp_path: Path) -> None:
    """Regression: the pin of the earlier command was taken to bound the later one."""
    text = (
        "pip install torch==2.5.1 diffusers==0.27.2\npip install huggingface-hub==0.23.5\n"
        "pip install transformers\n"
    )
    plan = planned_for(tmp_path, text)
    shown = " ".join((*(action.text for action in plan.actions), *plan.notes))
    assert "ask for huggingface-hub>=0.20.0,<0.26.0, in quotes" in shown
