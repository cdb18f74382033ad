"""Plans name every build for another torch, and remove what owns the folder of what comes."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.explain.pasted_complaints import complaints_in
from fadoctor.model.plan import ActionKind, Plan, PlanOutcome
from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, session

TABLE = "$ pip list\nPackage   Version\n--------- -------\n"


def planned_for(text: str, **question: Any) -> Plan:
    knowledge = session().knowledge
    complaints = complaints_in(text.encode(), "paste", knowledge)
    return plan(read_text(text.encode(), "paste", knowledge, complaints), **question)


def rows(*packages: str) -> str:
    return TABLE + "".join(f"{each.replace('==', '   ')}\n" for each in packages)


def lines(made: Plan) -> str:
    return "\n".join(action.text + " ".join(action.requirements) for action in made.actions)


def test_a_file_that_the_text_installs_counts_with_its_label() -> None:
    text = (
        "Python 3.11.9 on Linux x86_64, NVIDIA RTX A6000, driver 535.216.01\n"
        "pip install mamba_ssm-2.2.4+cu12torch2.5cxx11abiTRUE-cp311-cp311-linux_x86_64.whl\n"
        "pip install causal_conv1d-1.5.0.post8+cu12torch2.5cxx11abiTRUE-cp311-cp311-"
        "linux_x86_64.whl\n"
        + rows("causal-conv1d==1.5.0.post8", "mamba-ssm==2.2.4", "torch==2.7.1+cu126")
    )
    made = planned_for(text)
    assert "causal-conv1d==1.5.0.post8 mamba-ssm==2.2.4" in lines(made)
    assert not made.changes


def test_two_files_of_one_package_tell_nothing() -> None:
    text = (
        "Python 3.11.9 on Linux x86_64, NVIDIA RTX A6000, driver 535.216.01\n"
        "pip install mamba_ssm-2.2.4+cu12torch2.5cxx11abiTRUE-cp311-cp311-linux_x86_64.whl\n"
        "pip install mamba_ssm-2.2.4+cu12torch2.7cxx11abiTRUE-cp311-cp311-linux_x86_64.whl\n"
        + rows("mamba-ssm==2.2.4", "torch==2.7.1+cu126", "transformers==4.52.4")
    )
    assert planned_for(text).outcome is PlanOutcome.NOTHING


def test_a_triton_for_rocm_of_another_name_goes_first() -> None:
    """Regression: both names own the folder triton, and the old one stayed."""
    text = "Linux x86_64, Python 3.12.3\n  Marketing Name: AMD Radeon RX 9070 XT\n  Name: gfx1201\n"
    text += rows("pytorch-triton-rocm==3.2.0", "torch==2.6.0+rocm6.2.4", "numpy==2.2.4")
    made = planned_for(text)
    [gone] = [each for each in made.actions if each.kind is ActionKind.UNINSTALL]
    assert gone.requirements == ("pytorch-triton-rocm",)


def test_kernels_of_sglang_under_their_old_name_go_first() -> None:
    text = "Python 3.12.12 on Linux x86_64, NVIDIA H100 80GB HBM3, driver 580.95.05\n"
    text += rows(
        "huggingface-hub==0.36.0", "sgl-kernel==0.3.21", "sglang==0.5.9", "torch==2.11.0",
        "torchvision==0.26.0", "transformers==4.57.1", "triton==3.6.0",
    )  # fmt: skip
    found = planned_for(text, keep=("torch",))
    coming = {change.distribution for change in found.changes}
    removals = [each for each in found.actions if each.kind is ActionKind.UNINSTALL]
    gone = {name for each in removals for name in each.requirements}
    assert "sglang-kernel" in coming
    assert "sgl-kernel" in gone


@pytest.mark.parametrize("unsloth", ["2025.11.1", "2025.8.5"])
def test_torch_stays_for_what_unsloth_avoids_by_itself(unsloth: str) -> None:
    """Regression: torch, xformers and triton moved, though this unsloth computes without it."""
    text = "Python 3.11.13 on Linux x86_64, NVIDIA GeForce RTX 5090, driver 575.64.03\n"
    text += rows(
        "torch==2.8.0", "torchvision==0.23.0", "triton==3.4.0", f"unsloth=={unsloth}",
        "transformers==4.55.4", "trl==0.22.2", "xformers==0.0.32.post2",
        "nvidia-cuda-runtime-cu12==12.8.90",
    )  # fmt: skip
    moved = {change.distribution for change in planned_for(text).changes}
    assert moved.isdisjoint({"torch", "xformers", "triton", "torchvision"})
    assert ("unsloth" in moved) is (unsloth == "2025.8.5")


def test_a_step_that_installs_what_was_missing_hides_no_complaint() -> None:
    """Regression: einops came, and the symbol that flash-attn lacks was a note."""
    text = "Python 3.12.3 on Linux x86_64, NVIDIA H100 80GB HBM3, driver 570.124.06\n"
    text += "ImportError: /usr/local/lib/python3.12/dist-packages/flash_attn_2_cuda"
    text += ".cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEab\n"
    text += rows("flash-attn==2.7.3", "torch==2.8.0+cu128", "triton==3.4.0")
    made = planned_for(text)
    assert "abi-undefined-symbol" in made.proof.errors


def test_a_server_that_was_asked_for_is_not_replaced_by_torchs_attention() -> None:
    text = "Windows 11, Python 3.12.10, NVIDIA GeForce RTX 4090, driver 581.80\n"
    text += rows("torch==2.9.1+cu130", "numpy==2.3.5")
    made = planned_for(text, want=("vllm",))
    assert not made.changes
    said = [each.give_up for conflict in made.conflicts for each in conflict.alternatives]
    assert not any("torch's own attention" in each for each in said)
