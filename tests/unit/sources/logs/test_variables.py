"""Which variables a text says are set, and which it only talks about."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.variables import variable_claims
from fadoctor.sources.pasted.claims import PastedLine


def is_set(text: str, *tried: int) -> dict[str, str]:
    lines = [PastedLine(number, row) for number, row in enumerate(text.split("\n"), start=1)]
    return {
        each.name.removeprefix("env."): str(each.value) for each in variable_claims(lines, tried)
    }


@pytest.mark.parametrize(
    "text",
    [
        "export HIP_VISIBLE_DEVICES=2",
        "$ HIP_VISIBLE_DEVICES=2 python run.py",
        "(venv) a@b:~/c$ HIP_VISIBLE_DEVICES=2 python run.py",
        "set HIP_VISIBLE_DEVICES=2",
        'PS C:\\c> $env:HIP_VISIBLE_DEVICES = "2"',
        "docker run --rm -e HIP_VISIBLE_DEVICES=2 an-image",
        "      - HIP_VISIBLE_DEVICES=2",
        '    HIP_VISIBLE_DEVICES: "2"',
        "os.environ['HIP_VISIBLE_DEVICES'] = '2'",
        'Environment="HIP_VISIBLE_DEVICES=2"',
        "I have set `HIP_VISIBLE_DEVICES=2`, and it stops.",
        "With HIP_VISIBLE_DEVICES=2 the start fails.",
    ],
)
def test_what_is_set(text: str) -> None:
    assert is_set(text) == {"HIP_VISIBLE_DEVICES": "2"}


@pytest.mark.parametrize(
    "text",
    [
        "You can set HIP_VISIBLE_DEVICES=2 there.",
        "If I set HIP_VISIBLE_DEVICES=2 it stops",
        "I did not set HIP_VISIBLE_DEVICES=2",
        "With HIP_VISIBLE_DEVICES=2 it works",
        "Please use HIP_VISIBLE_DEVICES=2",
        "export HIP_VISIBLE_DEVICES=2\nunset HIP_VISIBLE_DEVICES",
        "export HIP_VISIBLE_DEVICES=2\nexport HIP_VISIBLE_DEVICES=1",
        "export HIP_VISIBLE_DEVICES=$GPUS",
        "export MY_OWN_SECRET=abc",
        "export CUDA_VISIBLE_DEVICES=1",  # in many texts, where it hides nothing of what is told
    ],
)
def test_what_is_not(text: str) -> None:
    assert is_set(text) == {}


def test_lines_of_vain_attempts_are_left_out() -> None:
    assert is_set("- HSA_OVERRIDE_GFX_VERSION=11.0.0", 1) == {}


def test_several_of_one_command() -> None:
    wanted = {"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "1"}
    assert is_set("$ ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=1 python a.py") == wanted
    assert is_set("I set ROCR_VISIBLE_DEVICES=1 and CUDA_VISIBLE_DEVICES=1.") == wanted
