"""A fix says which of its settings the command in the text has already."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.given_settings import GivenSettings
from fadoctor.model.fix import Fix, Step, StepKind


def fix(*texts: str, kind: StepKind = StepKind.ADVICE) -> Fix:
    return Fix("some", "Start the server", steps=tuple(Step(kind, text) for text in texts))


def said(lines: list[str], *fixes: Fix) -> list[str]:
    return [each.steps[-1].text for each in GivenSettings(lines).told(fixes)]


SHORTER = "Set --max-model-len 4096 and --enforce-eager."


def test_what_is_given_is_named() -> None:
    lines = ["$ vllm serve big/model --enforce-eager --port 80"]
    assert said(lines, fix(SHORTER)) == [
        "The command in the text already has --enforce-eager: start with the other settings here."
    ]


def test_another_value_is_told() -> None:
    lines = ["python -m vllm.entrypoints.api --max-model-len=8192 --host x"]
    assert said(lines, fix("Set --max-model-len 4096.")) == [
        "The command in the text has --max-model-len 8192 now."
    ]


def test_a_fix_of_which_all_is_given_comes_last() -> None:
    lines = ["NCCL_P2P_DISABLE=1 torchrun --nproc_per_node 2 train.py"]
    first = fix("Start with NCCL_P2P_DISABLE=1.")
    second = fix("Update the driver.")
    found = GivenSettings(lines).told((first, second))
    assert [each.steps[0].text for each in found] == [
        "Update the driver.",
        "Start with NCCL_P2P_DISABLE=1.",
    ]
    assert "did not help" in found[1].steps[-1].text


def test_an_argument_of_python_is_the_same_setting() -> None:
    lines = ["llm = LLM(model, enforce_eager=True, max_model_len=4096)"]
    assert "that did not help" in said(lines, fix(SHORTER))[0]


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: try --enforce-eager --max-model-len 4096",
        "usage: vllm serve [--enforce-eager] [--max-model-len N] --x --y",
        "error: unrecognized arguments: --enforce-eager --max-model-len 4096",
        "Should I add --enforce-eager --max-model-len 4096?",
        "With --enforce-eager --max-model-len 4096 it works",
        "I read about --enforce-eager.",
    ],
)
def test_what_is_no_command_gives_nothing(line: str) -> None:
    assert said([line], fix(SHORTER)) == [SHORTER]


@pytest.mark.parametrize(
    "text",
    [
        "Start the server without --enforce-eager.",
        "Remove --enforce-eager from the command.",
        "Leave --enforce-eager out.",
    ],
)
def test_what_a_fix_leaves_out_is_not_given(text: str) -> None:
    lines = ["vllm serve m --enforce-eager --max-model-len 4096"]
    assert said(lines, fix(text)) == [text]


def test_commands_that_differ_are_a_comparison() -> None:
    lines = ["vllm serve m --max-model-len 4096", "vllm serve m --max-model-len 8192"]
    assert said(lines, fix("Set --max-model-len 4096.")) == ["Set --max-model-len 4096."]


def test_a_switch_that_is_turned_off_is_not_the_same() -> None:
    lines = ["accelerate launch train.py --bf16 --lr 1"]
    assert said(lines, fix("--bf16 False --fp16 True", kind=StepKind.SETTING)) == [
        "The command in the text has --bf16 now."
    ]


def test_options_of_installers_are_no_settings() -> None:
    lines = ["pip install --no-build-isolation --no-deps flash-attn"]
    text = "Install it with --no-build-isolation."
    assert said(lines, fix(text)) == [text]
