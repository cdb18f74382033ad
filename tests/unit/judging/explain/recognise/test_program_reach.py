"""A program and only GPUs that its builds do not run on: that is the cause, whatever the words."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.program_reach import gpus_told, reach_of
from fadoctor.model.finding import Severity
from fadoctor.sources.logs.cleaning import Line

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def first(knowledge: Knowledge, text: str) -> tuple[str, Severity] | None:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return next(((each.rule_id, each.severity) for each in report.findings), None)


@pytest.mark.parametrize(
    ("text", "rule_id"),
    [
        ("Ollama nutzt meine GTX 680 nicht.", "ggml-cuda-arch-unsupported"),
        ("On Windows 10 ollama does not use my RX 5700 XT.", "ggml-rocm-arch-unsupported"),
        ("vLLM startet nicht auf einer Tesla P40.", "gpu-below-minimum"),
        ("WhisperX crashes with my RX 6800, it wants CUDA.", "ctranslate2-on-amd"),
        ("ollama does not use the Tesla M40 and the Tesla K80.", "weaker-gpu-visible"),
    ],
)
def test_a_gpu_out_of_reach_is_the_cause(knowledge: Knowledge, text: str, rule_id: str) -> None:
    found = first(knowledge, text)
    assert found is not None
    assert found[0] == rule_id
    assert found[1] is not Severity.NOTE


@pytest.mark.parametrize(
    "text",
    [
        "Ollama does not use my GTX 1080, a colleague's GTX 680 was never used either.",
        "ollama pull fails with a TLS error on the server with the Tesla K80.",
        "On Linux ollama ignores my RX 6800 XT.",
        "ollama37 does not use the GPU, a Tesla K80.",
    ],
)
def test_a_gpu_in_reach_and_other_trouble_are_left_alone(knowledge: Knowledge, text: str) -> None:
    assert first(knowledge, text) is None


def test_the_program_counts_before_a_note(knowledge: Knowledge) -> None:
    text = (
        "The subtitle tool crashes on my RX 7800 XT: faster-whisper asks for NVIDIA drivers.\n"
        "I run it with HSA_OVERRIDE_GFX_VERSION=11.0.0."
    )
    assert first(knowledge, text) == ("ctranslate2-on-amd", Severity.WARNING)


def test_several_gpus_of_one_text_are_all_read(knowledge: Knowledge) -> None:
    lines = [Line(1, "a Tesla K80 and an RTX 3090", ""), Line(2, "and my RX 580", "")]
    gpus = gpus_told(lines, {}, knowledge)
    assert [gpu.get("compute_capability", gpu.get("gfx")) for gpu in gpus] == [
        "3.7",
        "8.6",
        "gfx803",
    ]


def test_a_reach_depends_on_the_system(knowledge: Knowledge) -> None:
    reach = reach_of("ollama-rocm", knowledge)
    assert reach is not None
    navi10 = ({"vendor": "amd", "gfx": "gfx1010"},)
    assert reach.excludes(navi10, "windows", some=False)
    assert not reach.excludes(navi10, "linux", some=False)
    assert not reach.excludes(navi10, "", some=False)
    assert not reach.excludes((), "windows", some=False)


def test_a_program_without_any_build_needs_no_named_gpu(knowledge: Knowledge) -> None:
    reach = reach_of("ctranslate2-rocm", knowledge)
    assert reach is not None
    assert reach.excludes((), "", some=False)
    assert not reach.excludes(({"vendor": "nvidia", "compute_capability": "6.1"},), "", some=False)


def test_only_some_gpus_out_of_reach(knowledge: Knowledge) -> None:
    reach = reach_of("ollama-cuda", knowledge)
    assert reach is not None
    both = tuple({"vendor": "nvidia", "compute_capability": each} for each in ("3.7", "6.1"))
    assert reach.excludes(both, "linux", some=True)
    assert not reach.excludes(both, "linux", some=False)
    assert not reach.excludes(both[:1], "linux", some=True)


def test_a_program_that_no_table_has(knowledge: Knowledge) -> None:
    assert reach_of("nothing", knowledge) is None
