"""The torch and the CUDA that a text names in words choose the file that is shown."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.told_torch import told_first, told_torch

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("Which flash-attn do I take for torch 2.9.1?", "2.9"),
        ("PyTorch version: 2.10.0", "2.10"),
        ("My torch version is 2.8.0, torchvision is 0.23.0", "2.8"),
        ("pip install torch==2.9.0+cu130, then torch 2.9", "2.9"),
        ("from torch 2.6 to torch 2.9", ""),
        ("torchvision 0.24", ""),
        ("torch is new", ""),
    ],
)
def test_one_release_of_torch_is_read(text: str, torch: str) -> None:
    assert told_torch([text]) == torch


@pytest.mark.parametrize(
    ("text", "first"),
    [("cu130", "13.0"), ("CUDA 13", "13.0"), ("cuda12.9", "12.8"), ("cu126 or cu130", "12.8")],
)
def test_the_cuda_of_the_told_major_comes_first(text: str, first: str) -> None:
    assert told_first(("12.8", "13.0"), [text])[0] == first


def shown(knowledge: Knowledge, text: str) -> str:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return "\n".join(step.text for step in report.findings[0].fixes[0].steps)


def test_a_torch_that_is_told_chooses_the_file(knowledge: Knowledge) -> None:
    steps = shown(knowledge, "Is there a wheel of flash-attn for CUDA 13, torch 2.9?")
    assert "torch 2.9 for CUDA 13.0" in steps
    steps = shown(knowledge, "Is there a prebuilt wheel of flash-attn somewhere?")
    assert "flash-attention-prebuild-wheels/releases" in steps
