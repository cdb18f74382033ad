"""The first line and the gate of every recorded machine: never green above what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.cli.options.judging import FailOn
from fadoctor.interfaces.cli.support import check_code, severity_code
from fadoctor.model.finding import Severity
from fadoctor.report.answer import State, answers_of, gpus_of, worst_of
from fadoctor.report.blame import blame_text
from fadoctor.report.markdown import alike
from fadoctor.report.markdown import render as as_markdown
from fadoctor.report.markdown_screen import SCREEN, height
from fadoctor.report.style import Style
from fadoctor.report.text import render
from tests.hosts import recording

if TYPE_CHECKING:
    from fadoctor.model.report import Report
    from tests.hosts.conftest import Diagnosed

WITHOUT_A_GPU = (
    "container-cpu-only", "container-lib-without-nodes", "linux-all-gpus-hidden",
    "login-node-no-gpu", "no-driver-laptop", "wsl-without-nvidia",
)  # fmt: skip

HEALTHY = (
    "colab-t4", "fa4-only", "linux-5090-torch28-healthy", "linux-8xh100-mig",
    "linux-a100-healthy", "linux-v100-hidden", "vllm-l40s-healthy", "wsl-4070",
)  # fmt: skip


def gate(report: Report, fail_on: FailOn = FailOn.ERROR) -> int:
    return check_code(report, fail_on, strict=True)


@pytest.mark.parametrize("name", recording.names())
def test_nothing_works_above_an_error(name: str, diagnosed: Diagnosed) -> None:
    """It was "FlashAttention-2 works" above "importing xformers.ops fails"."""
    report = diagnosed(name)
    answers = answers_of(report)
    assert answers
    if any(each.severity is Severity.ERROR for each in report.findings):
        assert State.WORKS not in {each.state for each in answers}
        assert answers[0].state is State.FAILS
        assert "✓ " not in render(report, Style(width=100)).split("✗ error")[0]


@pytest.mark.parametrize("name", recording.names())
def test_the_first_line_names_the_cause_or_the_gpu(name: str, diagnosed: Diagnosed) -> None:
    report = diagnosed(name)
    worst = worst_of(report)
    if worst is None:
        return
    said = " ".join(each.sentence for each in answers_of(report))
    assert worst.title in said or "cannot run on this GPU" in said


@pytest.mark.parametrize("name", recording.names())
def test_markdown_is_at_most_a_screen_for_each_cause(name: str, diagnosed: Diagnosed) -> None:
    report = diagnosed(name)
    assert height(as_markdown(report)) <= SCREEN * max(1, len(alike(report.findings)))


def test_sglang_gets_its_own_settings_and_not_those_of_transformers(diagnosed: Diagnosed) -> None:
    first = render(diagnosed("sglang-h100"), Style(width=80)).split("\n\n", maxsplit=1)[0]
    assert "Use bfloat16 in SGLang." in first
    assert "sglang 0.5.10: --dtype bfloat16" in first
    assert "attn_implementation" not in first


@pytest.mark.parametrize("name", WITHOUT_A_GPU)
@pytest.mark.parametrize("fail_on", FailOn)
def test_the_gate_is_not_green_without_a_gpu(
    name: str, fail_on: FailOn, diagnosed: Diagnosed
) -> None:
    """It was 0 on login nodes, in containers without a GPU, and where all are hidden."""
    report = diagnosed(name)
    is_loud = severity_code(report.summary, fail_on)
    assert gate(report, fail_on) == (1 if is_loud else 3)


@pytest.mark.parametrize("name", HEALTHY)
def test_the_gate_is_green_on_a_healthy_node(name: str, diagnosed: Diagnosed) -> None:
    assert gate(diagnosed(name)) == 0


@pytest.mark.parametrize("name", recording.names())
def test_the_gate_is_green_only_below_a_green_answer(name: str, diagnosed: Diagnosed) -> None:
    report = diagnosed(name)
    code = gate(report)
    assert (code == 1) >= (report.summary.error > 0)
    if code == 0:
        assert gpus_of(report)
        assert State.WORKS in {each.state for each in answers_of(report)}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("linux-nvml-mismatch", "The driver's library and kernel module have different versions."),
        ("linux-t4-container-no-libcuda", "The container lacks the NVIDIA driver of its host"),
        ("unsloth-xformers-flash-range", "flash-attn is outside the range that xformers accepts"),
        ("hung-driver", "fadoctor could not read which GPU is here. NVML: nvmlInit gave no answer"),
        ("linux-all-gpus-hidden", "An environment variable hides every GPU."),
        ("container-lib-without-nodes", "The container gets no GPU device."),
    ],
)
def test_the_premise_that_is_broken_comes_first(name: str, said: str, diagnosed: Diagnosed) -> None:
    assert said in answers_of(diagnosed(name))[0].sentence


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("linux-4090-wheel-mismatch", "Right: driver, torch, triton. Wrong: flash-attn."),
        (
            "unsloth-xformers-flash-range",
            "Right: driver, torch, flash-attn, triton. Wrong: xformers.",
        ),
        ("linux-a100-torch211-driver550", "Wrong: driver."),
        ("linux-h100-cpu-torch", "Wrong: torch."),
        ("linux-a100-healthy", ""),
    ],
)
def test_what_is_right_need_not_be_looked_at(name: str, said: str, diagnosed: Diagnosed) -> None:
    assert blame_text(diagnosed(name)) == said


@pytest.mark.parametrize("name", recording.names())
def test_nothing_is_both_right_and_wrong(name: str, diagnosed: Diagnosed) -> None:
    right, _, wrong = blame_text(diagnosed(name)).removeprefix("Right: ").partition("Wrong: ")
    assert not set(right.strip(" .").split(", ")) & set(wrong.strip(" .").split(", ")) - {""}


def test_comfyui_gets_its_own_switches(diagnosed: Diagnosed) -> None:
    """It was `attn_implementation` of transformers, which nobody sets in ComfyUI."""
    first = render(diagnosed("amd-7900xtx-comfyui"), Style(width=80)).split("\n\n", maxsplit=1)[0]
    assert "comfyui: --use-pytorch-cross-attention (ComfyUI chooses the dtype itself)" in first
    assert "attn_implementation" not in first
    assert "flash_attention_2" not in first
