"""What a text shows by its words alone is told by a plan, too."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.pasted_complaints import complaints_in
from fadoctor.model.plan import Plan, PlanOutcome
from fadoctor.model.plan_words import has_doubts
from fadoctor.report.plan_answer import answer_text
from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, session

LIST = """Python 3.11.13 on Linux {machine}, {gpu}, driver 580.95.05
$ pip list
Package            Version
------------------ ------------
sgl-kernel         0.3.21
sglang             0.5.9
torch              2.9.1+cu129
transformers       4.57.1
"""
ERROR = "RuntimeError: RMSNorm failed with error code no kernel image is available for execution\n"


def planned_for(text: str) -> Plan:
    knowledge = session().knowledge
    complaints = complaints_in(text.encode(), "paste", knowledge)
    return plan(read_text(text.encode(), "paste", knowledge, complaints))


def test_what_no_fact_decides_is_for_a_person() -> None:
    """`check` named the file with code for this GPU; `fix` said that nothing is wrong."""
    found = planned_for(LIST.format(machine="aarch64", gpu="NVIDIA GB10") + ERROR)
    assert found.outcome is PlanOutcome.PARTIAL
    assert found.proof.errors == ("kernel-image-missing-ext",)
    assert any("sgl-kernel==0.3.21" in action.text for action in found.actions)


def test_a_list_alone_shows_nothing() -> None:
    found = planned_for(LIST.format(machine="aarch64", gpu="NVIDIA GB10"))
    assert found.outcome is PlanOutcome.NOTHING


REPORT = """- `llamafactory` version: 0.9.2
- Platform: Linux-5.15.0-112-generic-x86_64-with-glibc2.35
- Python version: 3.11.9
- PyTorch version: {torch}+cu121 (GPU)
- Transformers version: 4.45.2
- GPU type: NVIDIA A100-PCIE-40GB
- vLLM version: {vllm}
"""


def test_what_a_report_does_not_name_came_with_what_it_names() -> None:
    """Regression: torchvision and xformers were installed, which this vLLM had brought."""
    found = planned_for(REPORT.format(torch="2.4.0", vllm="0.6.1"))
    assert found.outcome is PlanOutcome.NOTHING


def test_a_vllm_that_moves_brings_what_it_requires() -> None:
    found = planned_for(REPORT.format(torch="2.5.1", vllm="0.6.1"))
    assert found.outcome is not PlanOutcome.NOTHING


JETSON = """$ uname -m
aarch64
$ pip list
Package            Version
------------------ ---------------------------
torch              1.12.0a0+2c916ef.nv22.3
torchvision        {torchvision}
"""


@pytest.mark.parametrize(("torchvision", "told"), [("0.13.0", True), ("0.13.0+da3794e", False)])
def test_what_nothing_tells_is_said(torchvision: str, *, told: bool) -> None:
    found = planned_for(JETSON.format(torchvision=torchvision))
    assert found.outcome is PlanOutcome.NOTHING
    assert has_doubts(found) == told
    assert answer_text(found).startswith("Whether something is wrong here") == told


CONDA = """Python 3.10.14 on Linux x86_64, NVIDIA GeForce RTX 3080, driver 550.54.14
# packages in environment at /srv/conda/envs/maps:
#
# Name          Version    Build                          Channel
mkl             2024.2.2   ha957f24_16                    conda-forge
pytorch         2.3.1      py3.10_cuda12.1_cudnn8.9.2_0   pytorch
"""
MKL = (
    "ImportError: /e/lib/python3.10/site-packages/torch/lib/libtorch_cpu.so: "
    "undefined symbol: iJIT_NotifyEvent\n"
)


def test_a_warning_that_no_fact_decides_is_for_a_person_too() -> None:
    """Regression: `explain` named the MKL, `fix` said of the same text that nothing is wrong."""
    found = planned_for(CONDA + MKL)
    assert found.outcome is PlanOutcome.PARTIAL
    assert any("mkl=2024.0" in action.text for action in found.actions)
    assert not found.changes
    assert planned_for(CONDA).outcome is PlanOutcome.NOTHING
