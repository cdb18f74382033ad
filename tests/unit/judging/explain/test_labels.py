"""The build of torch that a log names by its label, and what is installed by it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.companions import are_used
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.labels import label_in
from fadoctor.model.fact import Absent, Known, Unknown

if TYPE_CHECKING:
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Knowledge

NOT_COMPILED = "AssertionError: Torch not compiled with CUDA enabled"


def first_of(knowledge: Knowledge, log: str) -> Fix:
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    return report.findings[0].fixes[0]


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("torchaudio 2.10.0+cu130 requires torch==2.10.0", "cu130"),
        ("from https://download.pytorch.org/whl/nightly/rocm6.4", "rocm6.4"),
        ("torch 2.8.0+xpu", "xpu"),
    ],
)
def test_one_label_is_known(line: str, label: str) -> None:
    found = label_in([line, "torch 2.0.1+cpu"])
    assert isinstance(found, Known)
    assert found.value == label


def test_none_and_several() -> None:
    wheel = "flash_attn-2.8.3+cu128torch2.8.0cxx11abiTRUE-cp312-cp312-win_amd64.whl"
    assert isinstance(label_in(["torch 2.8.0", wheel]), Absent)
    assert isinstance(label_in(["torch 2.8.0+cu128", "torch 2.9.0+cu130"]), Unknown)


def test_the_build_that_was_there_comes_back(knowledge: Knowledge) -> None:
    """cu128 was named to everybody, also where the log named the build that others need."""
    log = f"torchvision 0.25.0+cu130 was replaced\n{NOT_COMPILED}"
    fix = first_of(knowledge, log)
    assert fix.id == "torch-from-the-named-index"
    assert "whl/cu130" in fix.steps[0].text


def test_no_build_is_named_where_the_log_names_none(knowledge: Knowledge) -> None:
    """torchvision was reinstalled from an index of CUDA beside a torch of AMD."""
    fix = first_of(knowledge, "RuntimeError: operator torchvision::nms does not exist")
    assert not any("whl/cu" in f"{step.text} {step.index}" for step in fix.steps)


def test_torch_comes_with_its_companions(knowledge: Knowledge) -> None:
    log = (
        "ComfyUI on Windows 11, Python 3.12.3\nNVIDIA GeForce RTX 5070 with CUDA capability "
        "sm_120 is not compatible with the current PyTorch installation."
    )
    items = [item for step in first_of(knowledge, log).steps for item in step.items]
    assert [item.partition("==")[0] for item in items] == ["torch", "torchvision", "torchaudio"]
    assert not are_used(["vllm serve some/model"])
    assert are_used(["training on a P100 of Kaggle"])


def test_a_list_of_architectures_names_no_gpu(knowledge: Knowledge) -> None:
    """torch lists sm_120 among what it has code for, and the GPU is a P100."""
    log = (
        "Tesla P100-PCIE-16GB with CUDA capability sm_60 is not compatible with the current "
        "PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_70 "
        "sm_75 sm_80 sm_100 sm_120."
    )
    assert "cu126" in str(first_of(knowledge, log).steps[0])
