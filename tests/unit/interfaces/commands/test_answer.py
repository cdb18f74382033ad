"""One answer to any text: its kind, and what is said of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from fadoctor.api import answer
from fadoctor.model.errors import InputError, UsageError
from fadoctor.model.explanation import Explanation
from fadoctor.model.report import Report
from fadoctor.report.answer import answers_of
from fadoctor.sources.scripts import python_calls
from tools.page.kinds import KINDS

if TYPE_CHECKING:
    from fadoctor.report.results import AnswerResult

AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
SCRIPT = (
    "import torch\nfrom transformers import AutoModelForCausalLM\n"
    "m = AutoModelForCausalLM.from_pretrained('x', torch_dtype=torch.bfloat16)\n"
    "m.generate()\n"
)


PASTED = (
    "PyTorch version: 2.6.0+cu124\nNvidia driver version: 550.54.15\n"
    "GPU models and configuration: GPU 0: A100\n[pip3] flash-attn==2.7.4\n"
)


def ids(found: AnswerResult) -> set[str]:
    return {each.rule_id for each in found.document.findings}


def first(found: AnswerResult) -> str:
    assert isinstance(found.document, Report)
    return answers_of(found.document)[0].sentence


@pytest.mark.parametrize("kind", ["error", "issue", "report", "requirements", "configuration"])
def test_each_kind_is_recognised_and_answered(kind: str) -> None:
    example = KINDS[f"kind:{kind}"]
    found = answer(example["text"], example.get("gpu"))
    assert found.kind.value == kind
    assert ids(found)


def test_an_error_is_explained_and_with_a_gpu_it_is_judged() -> None:
    alone, beside = answer(AMPERE), answer(AMPERE, gpu="T4")
    assert isinstance(alone.document, Explanation)
    assert isinstance(beside.document, Report)
    assert ids(alone) == ids(beside) == {"gpu-too-old-fa2"}
    assert "--gpu T4" in beside.document.overlays


def test_files_without_a_gpu_are_told_that_the_answer_depends_on_one() -> None:
    """The line spoke of a machine that was not looked at."""
    said = "The answer depends on the GPU. The text names no GPU: name one with --gpu."
    assert first(answer("torch==2.6.0\ntransformers==4.50.0\n")) == said


@pytest.mark.parametrize(
    ("text", "gpu", "said"),
    [
        ("", "H200", "FlashAttention-2 supports this GPU; driver, Python and system decide"),
        ("", "MI250X", "MI250X: no FlashAttention is named;"),
        ("", "GTX 970", "FlashAttention-2 cannot run on this GPU."),
        ("vllm serve m --dtype half\n", "T4", "vLLM's FlashAttention cannot run on this GPU."),
        ("torch==2.7.0\nxformers==0.0.28.post1\n", "A100", "each other (xformers)."),
        (
            PASTED,
            "",
            "FlashAttention-2 supports this GPU; the text does not show whether it loads.",
        ),
    ],
)
def test_the_first_line_says_what_is_decided_and_what_decides_the_rest(
    text: str, gpu: str, said: str
) -> None:
    """These said that it could not be decided, that no GPU is seen, or named no package."""
    assert said in first(answer(text, gpu or None))


def test_a_gpu_alone_is_answered_by_the_tables() -> None:
    found = answer("", gpu="V100")
    assert found.kind.value == "gpu"
    assert isinstance(found.document, Report)
    assert found.document.recommendation is not None
    assert found.document.recommendation.dtype.value == "fp16"
    assert not found.document.findings


def test_a_configuration_says_nothing_of_packages_that_it_does_not_name() -> None:
    """flash-attn may be installed where it runs: "not installed" would be a false alarm."""
    found = answer("stage: sft\nflash_attn: fa2\nbf16: true\n", gpu="V100")
    assert ids(found) == {"bf16-unsupported-gpu"}


def test_a_missing_gpu_is_asked_for() -> None:
    assert "names no GPU" in first(answer("stage: sft\nflash_attn: fa2\nbf16: true\n"))


def test_files_that_a_text_names_are_not_opened() -> None:
    found = answer("-r /etc/hostname\n-r base.txt\ntorch==2.6.0\n", gpu="A100")
    assert isinstance(found.document, Report)
    assert "requirements.txt:3" in found.document.environment["torch.version"].source
    assert any("were not read" in note for note in found.document.target.notes)


def test_nothing_of_this_machine_is_said() -> None:
    found = answer("torch==2.6.0\nflash-attn==2.7.3\n", gpu="A100")
    assert isinstance(found.document, Report)
    said = " ".join(found.document.target.notes)
    assert "machine" not in said
    assert "facts were read" not in said
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" not in said


@pytest.mark.long
def test_no_process_and_no_thread_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser has neither."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a process")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(python_calls, "HAS_PROCESSES", False)
    for example in KINDS.values():
        answer(example["text"], example.get("gpu"))
    assert ids(answer(SCRIPT, gpu="V100")) == {"bf16-unsupported-gpu"}


def test_a_script_means_the_same_with_and_without_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_them = answer(SCRIPT, gpu="V100")
    monkeypatch.setattr(python_calls, "HAS_PROCESSES", False)
    assert answer(SCRIPT, gpu="V100") == with_them


def test_what_is_not_recognised_says_so() -> None:
    found = answer("the weather is nice today")
    assert isinstance(found.document, Explanation)
    assert not found.document.findings


def test_saved_facts_are_judged() -> None:
    from fadoctor.api import facts  # noqa: PLC0415 -- examined here only
    from fadoctor.model.typed import encode  # noqa: PLC0415

    found = answer(encode(facts(facts="tests/golden/linux-v100-torch210/facts.json")).decode())
    assert found.kind.value == "facts"


def test_wrong_use_is_refused() -> None:
    with pytest.raises(UsageError, match="V1000"):
        answer(AMPERE, gpu="V1000")
    with pytest.raises(InputError):
        answer(" \n")
    with pytest.raises(UsageError):
        answer(b"bytes")  # type: ignore[arg-type]


def test_a_notebook_shows_it() -> None:
    assert "Ampere" in answer(AMPERE)._repr_html_()
