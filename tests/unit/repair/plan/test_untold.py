"""A text names some packages: what it does not name comes only where somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, session

if TYPE_CHECKING:
    from fadoctor.model.plan import Plan

NAMED = """\
Collecting environment information...
PyTorch version: {torch}
CUDA used to build PyTorch: {cuda}
OS: Ubuntu 22.04.4 LTS (x86_64)
Libc version: glibc-2.35
Python version: 3.12.3 (main, Jan  1 2025, 00:00:00) [GCC 11.4.0] (64-bit runtime)
GPU models and configuration: GPU 0: {gpu}
Nvidia driver version: {driver}

Versions of relevant libraries:
[pip3] torch=={torch}
[pip3] torchvision=={vision}
[pip3] triton=={triton}
"""


def planned(said: dict[str, str], **question: tuple[str, ...]) -> Plan:
    text = NAMED.format(**said).encode()
    return plan(read_text(text, "report.txt", session().knowledge), **question)


CUDA_13 = {
    "torch": "2.11.0+cu130", "cuda": "13.0", "gpu": "NVIDIA A100-SXM4-80GB",
    "driver": "535.183.01", "vision": "0.26.0+cu130", "triton": "3.6.0",
}  # fmt: skip
AGREED = {
    "torch": "2.5.1+cu124", "cuda": "12.4", "gpu": "NVIDIA GeForce RTX 2080 Ti",
    "driver": "550.120", "vision": "0.20.1+cu124", "triton": "3.1.0",
}  # fmt: skip


def test_nothing_comes_that_neither_the_text_names_nor_anybody_asks_for() -> None:
    found = planned(CUDA_13)
    changes = {each.distribution: each.after for each in found.changes}
    assert changes.keys() == {"torch", "torchvision"}
    assert changes["torch"].startswith("2.11.0+cu12")


def test_what_is_asked_for_comes_though_the_text_may_only_not_name_it() -> None:
    found = planned(AGREED, want=("xformers",))
    assert [(each.distribution, each.after) for each in found.changes] == [
        ("xformers", "0.0.29.post1")
    ]


def test_the_undo_brings_back_what_the_text_names() -> None:
    [step] = [each for each in planned(CUDA_13).actions if each.is_step]
    assert "torch==2.11.0+cu130" in step.undo
    assert "uninstall" not in step.undo


def test_a_text_without_torch_gets_nothing_that_is_for_one_torch() -> None:
    """xformers of the newest torch was planned for, beside a torch that nobody knows."""
    text = b"Name: flash-attn\nVersion: 2.7.4.post1\nRequires: einops, torch\nRequired-by:\n"
    found = read_text(text, "report.txt", session().knowledge)
    assert not plan(found, want=("xformers",)).changes


def test_what_the_text_names_moves_where_another_package_refuses_it() -> None:
    """Regression: what a text names stayed as it was in the facts after the plan."""
    said = AGREED | {"torch": "2.4.0+cu121", "cuda": "12.1", "vision": "0.19.0", "triton": "3.0.0"}
    said["gpu"] = "NVIDIA RTX A6000"
    more = "[pip3] vllm==0.6.1\n[pip3] numpy==2.1.3\n[pip3] xformers==0.0.27.post2\n"
    found = plan(read_text((NAMED.format(**said) + more).encode(), "r.txt", session().knowledge))
    assert [(each.distribution, each.after) for each in found.changes] == [("numpy", "1.26.4")]
    assert found.proof.clean
