"""Exact pins of packages outside the search, and what a person is told to install by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.pasted_complaints import complaints_in
from fadoctor.model.plan import ActionKind
from fadoctor.sources.logs.pasted_text import read_text
from tests.states.promises import misplaced_by_hand
from tests.unit.repair.plan.problems import plan, session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

REPORT = """\
Collecting environment information...
PyTorch version: {torch}
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: {rocm}
OS: Ubuntu 22.04.5 LTS (x86_64)
Libc version: glibc-2.35
Python version: 3.11.9 (main, Jan  1 2025, 00:00:00) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: True
GPU models and configuration: {gpu}
Nvidia driver version: {driver}

Versions of relevant libraries:
[pip3] torch=={torch}
"""
NVIDIA = {"cuda": "12.6", "rocm": "N/A", "gpu": "NVIDIA H100 80GB HBM3", "driver": "560.35.03"}
AMD = {
    "cuda": "N/A", "rocm": "6.2.41134", "gpu": "AMD Instinct MI210 (gfx90a:sramecc+:xnack-)",
    "driver": "Could not collect",
}  # fmt: skip
REFUSED = "mine 1.0 requires {0}, but you have {1} which is incompatible.\n"


def read(torch: str, machine: dict[str, str], *packages: str, said: str = "") -> Environment:
    rows = "".join(f"[pip3] {each}\n" for each in packages)
    text = f"{REPORT.format(torch=torch, **machine)}{rows}\n{said}".encode()
    knowledge = session().knowledge
    return read_text(text, "paste", knowledge, complaints_in(text, "paste", knowledge))


def test_a_pin_that_pip_alone_knows_bounds_the_search() -> None:
    """The complaint was shown, and `fix` said that nothing is wrong."""
    said = REFUSED.format("transformers==4.45.2", "transformers 4.57.1")
    found = plan(read("2.7.1+cu126", NVIDIA, "transformers==4.57.1", said=said))
    assert [(each.distribution, each.after) for each in found.changes] == [
        ("transformers", "4.45.2")
    ]


def test_a_pinned_flash_attn_comes_in_the_file_for_this_torch() -> None:
    """It was for a person, compiled, though there is a file; and then not planned at all."""
    said = REFUSED.format("flash-attn==2.8.0.post2", "flash-attn 2.7.4.post1")
    found = plan(read("2.7.1+cu126", NVIDIA, "flash_attn==2.7.4.post1", said=said))
    moved = {each.distribution: each.after for each in found.changes}
    assert moved == {"flash-attn": "2.8.0.post2"}
    (step,) = found.actions
    assert step.kind is ActionKind.INSTALL
    assert "flash_attn-2.8.0.post2" in " ".join(step.argv)


def test_one_repair_of_two_stays_though_the_other_cannot_be_had() -> None:
    """Both are of one rule: with one left, nothing was planned. No line complains of either."""
    environment = read("2.7.1+cu126", NVIDIA, "trl==0.9.6", "numpy==2.2.0", "axolotl==0.21.0")
    found = plan(environment)
    assert [(each.distribution, each.after) for each in found.changes] == [("trl", "1.14.1")]
    assert any("pip install torch==" in each.text for each in found.actions)  # what axolotl needs


def test_no_third_release_comes_in_place_of_one_that_a_pin_refuses() -> None:
    """Of a broken file the newest release was named, which the pin refuses as well."""
    broken = (
        "ImportError: /opt/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-"
        "gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEab\n"
    )
    said = REFUSED.format("flash-attn==2.7.3", "flash-attn 2.8.0.post2") + broken
    found = plan(read("2.9.1+cu126", NVIDIA, "flash_attn==2.8.0.post2", said=said))
    assert "2.8.3" not in " ".join(each.text for each in found.actions)


@pytest.mark.parametrize("vllm", ["0.9.1", "0.10.0"])
def test_nothing_is_repaired_for_a_server_of_cuda_beside_rocm(vllm: str) -> None:
    """A torchvision of PyPI was named, which requires the torch for CUDA."""
    environment = read(
        "2.6.0+rocm6.2.4", AMD, "torchvision==0.21.0+rocm6.2.4", f"vllm=={vllm}", "numpy==1.26.4"
    )
    found = plan(environment)
    assert not any("torchvision" in each.text for each in found.actions)
    assert misplaced_by_hand(found, environment) == ""


def test_compressed_tensors_stays_where_another_pins_it() -> None:
    """vLLM's pin moved it to a release that llmcompressor refuses."""
    environment = read(
        "2.8.0+cu126", NVIDIA, "vllm==0.11.0", "compressed-tensors==0.12.2",
        "llmcompressor==0.8.1",
    )  # fmt: skip
    assert "compressed-tensors" not in {each.distribution for each in plan(environment).changes}
