"""The build of torch that a log names by its label, and what is installed by it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.companions import are_used
from fadoctor.judging.explain.fixes.labels import label_in
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


def test_companions_on_windows_have_the_label_of_torch(knowledge: Knowledge) -> None:
    """torchvision of the same release, for another CUDA, stayed: for pip it was there already."""
    log = (
        "D:\\ComfyUI\\venv\\Lib\\site-packages\\torch\\cuda\\__init__.py:235: UserWarning:\n"
        "NVIDIA GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current "
        "PyTorch installation.\npytorch version: 2.7.0+cu118"
    )
    fix = first_of(knowledge, log)
    assert "torchvision==0.22.0+cu128" in fix.steps[0].text


ALONE = (
    "My script on Ubuntu: GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the "
    "current PyTorch installation."
)


def test_torch_comes_with_companions_for_everybody(knowledge: Knowledge) -> None:
    assert "torchvision==0.25.0" in first_of(knowledge, ALONE).steps[0].text


def test_a_list_without_companions_gets_none(knowledge: Knowledge) -> None:
    names = ("anyio", "click", "idna", "jinja2", "numpy", "pyyaml", "rich")
    listed = "\n".join(f"{name}    2.0.1" for name in names)
    log = f"{ALONE}\n{listed}\ntorch    2.7.0+cu126"
    assert "torchvision" not in first_of(knowledge, log).steps[0].text
    assert "torchvision" in first_of(knowledge, f"{log}\ntorchvision 0.22.0").steps[0].text


def test_companions_of_the_same_release_have_the_label_of_torch(knowledge: Knowledge) -> None:
    text = first_of(knowledge, f"{ALONE}\ntorch 2.7.0+cu126").steps[0].text
    assert "torch==2.7.0+cu128 torchvision==0.22.0+cu128" in text


def test_torch_of_another_vendor_goes_with_its_companions(knowledge: Knowledge) -> None:
    log = (
        "RX 7900 XTX on Ubuntu 24.04, ROCm 6.3, torch 2.7.1+cu126\n"
        "RuntimeError: Found no NVIDIA driver on your system."
    )
    removes, installs = first_of(knowledge, log).steps[:2]
    assert removes.items == ("torch", "triton", "torchvision", "torchaudio")
    assert installs.items == ("torch==2.7.1", "torchvision==0.22.1", "torchaudio==2.7.1")


def test_a_project_of_uv_gets_torch_with_its_index(knowledge: Knowledge) -> None:
    """uv pip install was taken back by the next uv run; the project was bound to another index."""
    index = "https://download.pytorch.org/whl"
    log = f"uv run train.py, with torch==2.7.1+cpu and an RTX 3090 on Windows\n{NOT_COMPILED}"
    assert [step.text for step in first_of(knowledge, log).steps] == [
        (
            f"uv add --index pytorch-cu126={index}/cu126 "
            "torch==2.7.1 torchvision==0.22.1 torchaudio==2.7.1"
        )
    ]
