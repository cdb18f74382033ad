"""Why a repair is useless comes before what is built on torch, and stays away elsewhere."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

CPU = "PyTorch: 2.9.1+cpu\nGPU: NVIDIA GeForce RTX 4070\n"
BLACKWELL = "torch 2.6.0+cu124\nGPU: NVIDIA GeForce RTX 5080\n"
NO_COMPILER = "torch._inductor.exc.InductorError: RuntimeError: Compiler: cl is not found."
NO_NVCC = "RuntimeError: flash_attn was requested, but nvcc was not found."
FOREIGN = (
    "Building wheel for dlib (setup.py): error: Microsoft Visual C++ 14.0 or greater is required."
)
OFFLINE = "OSError: We couldn't connect to 'https://huggingface.co' to load this file"
NO_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."
BF16 = '{"bf16": {"enabled": true},\n "zero_optimization": {"stage": 3}}\n'
TWICE = "export ROCR_VISIBLE_DEVICES=1\nexport HIP_VISIBLE_DEVICES=1\n"


def ids(knowledge: Knowledge, log: str) -> list[str]:
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    return [each.rule_id for each in report.findings]


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        (CPU + NO_COMPILER, ["torch-cpu-only", "build-compiler-missing"]),
        (CPU + NO_NVCC, ["torch-cpu-only", "build-nvcc-missing"]),
        (BLACKWELL + NO_NVCC, ["torch-arch-unsupported", "build-nvcc-missing"]),
        (f"Tesla V100\n{BF16}{NO_MEMORY}", ["bf16-unsupported-gpu", "gpu-memory-too-small"]),
        (
            f"{TWICE}>>> torch.cuda.is_available()\nFalse\nAMD Radeon RX 7900 XTX",
            ["rocm-devices-chosen-twice"],
        ),
    ],
)
def test_what_facts_prove_comes_first(knowledge: Knowledge, log: str, wanted: list[str]) -> None:
    assert ids(knowledge, log) == wanted


@pytest.mark.parametrize(
    ("log", "unwanted"),
    [
        (CPU + FOREIGN, "torch-cpu-only"),
        (CPU + OFFLINE, "torch-cpu-only"),
        (CPU.replace("+cpu", "+cu128") + NO_COMPILER, "torch-cpu-only"),
        (f"NVIDIA A100-SXM4-80GB\n{BF16}{NO_MEMORY}", "bf16-unsupported-gpu"),
        (
            TWICE.replace("HIP_VISIBLE_DEVICES=1", "HIP_VISIBLE_DEVICES=0"),
            "rocm-devices-chosen-twice",
        ),
        (
            f"{TWICE}I unset both, and now torch.cuda.is_available() is True.",
            "rocm-devices-chosen-twice",
        ),
        (f"{CPU}{NO_COMPILER}\nIt works now, solved. Closing this.", "torch-cpu-only"),
    ],
)
def test_what_does_not_matter_there_is_not_said(
    knowledge: Knowledge, log: str, unwanted: str
) -> None:
    assert unwanted not in ids(knowledge, log)
