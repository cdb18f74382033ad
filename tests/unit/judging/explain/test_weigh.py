"""What facts of the same log make of the causes that it shows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.model.explanation import Agreement
from fadoctor.report.explanation_text import render
from fadoctor.report.style import Style
from fadoctor.sources.logs.facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.facts import LogFacts

AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def explained(knowledge: Knowledge, log: str) -> Explanation:
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)


def test_a_cause_that_the_log_itself_confirms_has_its_lines_as_evidence(
    knowledge: Knowledge,
) -> None:
    report = explained(knowledge, f"flash-attn 2.8.3\nGPU: Tesla V100\n{AMPERE}\n")
    (finding,) = report.findings
    assert (finding.rule_id, finding.confidence.value) == ("gpu-too-old-fa2", "high")
    sources = {each.fact: each.source for each in finding.evidence}
    assert sources["log"] == "a.log:3"
    assert sources["gpu[0].compute_capability"].startswith("a.log:2")
    assert report.checks[0].agreement is Agreement.CONFIRMED


def test_the_compiler_of_a_report_excludes_no_build_that_took_another(
    knowledge: Knowledge,
) -> None:
    report = "PyTorch version: 2.6.0+cu124\nGCC version: (Ubuntu 11.4.0-1) 11.4.0\n"
    report += "CUDA runtime version: 12.4.131\nOS: Ubuntu 22.04 LTS (x86_64)\n"
    stops = "error: -- unsupported GNU version! gcc versions later than 13 are not supported!\n"
    told = explained(knowledge, f"{report}{stops}")
    (finding,) = told.findings
    assert (finding.rule_id, finding.confidence.value) == ("gcc-too-new", "high")
    assert told.checks == ()
    read = read_log(io.BytesIO(report.encode()), "a.log", knowledge).facts().named
    assert {"toolkit.gcc.version", "toolkit.nvcc.version"} <= read.keys()


def test_a_cause_that_the_log_excludes_loses_confidence(knowledge: Knowledge) -> None:
    (finding,) = explained(knowledge, f"flash-attn 2.8.3, torch 2.8.0\nan H100\n{AMPERE}").findings
    assert finding.confidence.value == "medium"


@pytest.mark.parametrize(
    ("facts", "rule_id"),
    [
        ("torch 2.6.0+cu124 on an RTX 5090", "torch-arch-unsupported"),
        ("torch 2.8.0+cu128 on an RTX 5090", "kernel-image-missing-ext"),
        ("", "kernel-image-missing-ext"),
    ],
)
def test_facts_say_which_of_several_causes_it_is(
    knowledge: Knowledge, facts: str, rule_id: str
) -> None:
    log = f'{facts}\n  File "/srv/app/loop.py", line 3, in step\n    y = model(x)\n{KERNEL}\n'
    report = explained(knowledge, log)
    assert [each.rule_id for each in report.findings] == [rule_id]


def test_facts_alone_add_no_cause(knowledge: Knowledge) -> None:
    log = "torch 2.6.0+cu124 on an RTX 5090\nKeyError: 'tokens'\n"
    assert explained(knowledge, log).findings == ()


def test_what_is_excluded_falls_behind_what_is_not(knowledge: Knowledge) -> None:
    other = "RuntimeError: query and key must have the same dtype"
    log = f"flash-attn 2.8.3\nGPU: H100\n{AMPERE}\n\nTraceback (most recent call last):\n{other}\n"
    assert [each.rule_id for each in explained(knowledge, log).findings] == [
        "fa2-mixed-qkv-dtype",
        "gpu-too-old-fa2",
    ]


def test_what_a_log_complains_of_is_found_by_its_facts(knowledge: Knowledge) -> None:
    """No wording of a rule stands in it, and yet its versions say what is wrong."""
    log = "Triton fails to compile my kernel on start.\ntorch 2.5.1+cu121\ntriton 2.1.0\n"
    (finding,) = explained(knowledge, log).findings
    assert (finding.rule_id, finding.severity.value) == ("triton-torch-version", "error")
    assert finding.evidence[0].source == "a.log:1"
    quiet = log.replace("Triton fails to compile", "Triton compiles")
    assert explained(knowledge, quiet).findings == ()
    other = log.replace("Triton fails", "The disk fails")
    assert explained(knowledge, other).findings == ()


def test_a_banner_says_that_flash_attn_is_broken_only_where_it_could_run(
    knowledge: Knowledge,
) -> None:
    banner = """==((====))==  Unsloth 2025.4.1: Fast Llama patching. Transformers: 4.51.3.
   \\\\   /|    {}. Num GPUs = 1. Max memory: 22.0 GB. Platform: Linux.
O^O/ \\_/ \\    Torch: 2.6.0+cu124. CUDA: {}. CUDA Toolkit: 12.4. Triton: 3.2.0
\\        /    Bfloat16 = TRUE. FA [Xformers = 0.0.29.post3. FA2 = False]
"""
    there = "flash_attn==2.7.4.post1\n"
    cases = {
        there + banner.format("NVIDIA L4", "8.9"): ["unsloth-fa2-broken"],
        there + banner.format("Tesla T4", "7.5"): [],
        banner.format("NVIDIA L4", "8.9"): [],
    }
    for log, ids in cases.items():
        assert [each.rule_id for each in explained(knowledge, log).findings] == ids


def test_a_triton_that_is_there_is_not_missing(knowledge: Knowledge) -> None:
    error = "RuntimeError: Cannot find a working triton installation."
    (first,) = explained(knowledge, f"torch 2.5.1+cu121\ntriton 2.1.0\n{error}").findings
    assert (first.rule_id, first.consequences) == ("triton-torch-version", ("triton-missing",))
    (alone,) = explained(knowledge, f"torch 2.5.1+cu121\n{error}").findings
    assert alone.rule_id == "triton-missing"


def test_facts_say_whose_function_windows_does_not_find(knowledge: Knowledge) -> None:
    """The code 127 fits every library that goes with another one than is there."""
    error = (
        '  File "C:\\v\\Lib\\site-packages\\torch\\__init__.py", line 3\nOSError: [WinError 127] '
    )
    log = f"{{}}\n{error}The specified procedure could not be found"
    (cpu,) = explained(knowledge, log.format("torch 2.6.0+cpu on an RTX 4090")).findings
    assert (cpu.rule_id, cpu.consequences) == ("torch-cpu-only", ("abi-undefined-symbol",))
    for facts in ("torch 2.6.0+cu124 on an RTX 4090", "torch 2.6.0+cpu", ""):
        (other,) = explained(knowledge, log.format(facts)).findings
        assert (other.rule_id, other.confidence.value) == ("abi-undefined-symbol", "medium")


def test_a_wording_that_names_the_file_is_not_overruled(knowledge: Knowledge) -> None:
    error = (
        "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure"
    )
    log = f"torch 2.6.0+cpu on an RTX 4090\n{error} could not be found."
    (finding,) = explained(knowledge, log).findings
    assert (finding.rule_id, finding.confidence.value) == ("abi-undefined-symbol", "high")


def test_another_cause_of_a_missing_triton_is_not_made_up(knowledge: Knowledge) -> None:
    """What the log names fits torch, or says nothing of triton: the wording alone counts."""
    error = "RuntimeError: Cannot find a working triton installation."
    for facts in ("", "torch 2.5.1+cu121\ntriton 3.1.0", "torch 2.6.0+cu124 on an RTX 4090"):
        (finding,) = explained(knowledge, f"{facts}\n{error}").findings
        assert (finding.rule_id, finding.consequences) == ("triton-missing", ())


@pytest.mark.parametrize(
    ("log", "readers"),
    [
        ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", []),
        ("Loss: 0.2 on torch 2.6.0", []),
        ("unsloth says Bfloat16 = TRUE. FA [Xformers = None. FA2 = False]", ["a.log"]),
    ],
)
def test_facts_are_read_only_for_a_symptom_that_asks_for_them(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch, log: str, readers: list[str]
) -> None:
    asked: list[str] = []

    def counted(lines: Sequence[Line], name: str, matrix: Matrix) -> LogFacts:
        asked.append(name)
        return facts_of(lines, name, matrix)

    monkeypatch.setattr("fadoctor.judging.explain.explain.facts_of", counted)
    reading = read_log(io.BytesIO(log.encode()), "a.log", knowledge)
    assert asked == readers
    reading.facts()
    reading.facts()
    assert asked == ["a.log"]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (f"flash-attn 2.8.3\nGPU: Tesla V100\n{AMPERE}", "What the log says confirms it"),
        (
            "torch 2.5.1+cu121\ntriton 2.1.0\nTriton fails to compile my kernel",
            "What the log says confirms it.\n",
        ),
        (f"flash-attn 2.8.3, torch 2.8.0\nan H100\n{AMPERE}", "contradict it.\n"),
    ],
)
def test_what_the_log_says_of_a_cause_is_told_in_a_sentence(
    knowledge: Knowledge, log: str, said: str
) -> None:
    report = explained(knowledge, log)
    text = render(report, Style(width=200))
    assert said in text
    assert f"{report.findings[0].rule_id}:" not in text
