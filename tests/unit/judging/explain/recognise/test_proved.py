"""The facts of a text and a complaint about just that, in no wording that a rule has."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.proved import LINES_LIMIT, complaining
from fadoctor.sources.logs.cleaning import Line

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def ids(knowledge: Knowledge, log: str) -> list[str]:
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    return [each.rule_id for each in report.findings if each.severity.value != "note"]


BLACKWELL = "NVIDIA GeForce RTX 5090\ntorch 2.6.0+cu124\n"
CPU = "NVIDIA GeForce RTX 4090\ntorch 2.8.0+cpu\n"
XFORMERS = "torch==2.5.1+cu124\nxformers==0.0.26.post1\n"
VOLTA = "Tesla V100-SXM2-32GB\ntorch 2.6.0+cu124\n"


@pytest.mark.parametrize(
    ("facts", "complaint", "rule_id"),
    [
        (BLACKWELL, "It crashes on the new card.", "torch-arch-unsupported"),
        (BLACKWELL, "新しい GPU では動かない", "torch-arch-unsupported"),
        (BLACKWELL, "换了显卡就报错", "torch-arch-unsupported"),
        (BLACKWELL, "Il programma si blocca subito.", "torch-arch-unsupported"),
        (BLACKWELL, "Nach dem Start stürzt das Programm ab.", "torch-arch-unsupported"),
        (BLACKWELL, "При запуске всё падает", "torch-arch-unsupported"),
        (BLACKWELL, "실행하면 꺼집니다", "torch-arch-unsupported"),
        ('RTX 4070\nIt says "2.4.1+cpu".\n', "The card stays at zero.", "torch-cpu-only"),
        (
            "RTX 5080\nMy torch is 2.5.1.\n",
            "Every image ends in a crash.",
            "torch-arch-unsupported",
        ),
        (CPU, "CUDA available: False", "torch-cpu-only"),
        (CPU, "My GPU is not used, CUDA does not work.", "torch-cpu-only"),
        (VOLTA, "FlashAttention does not work there.", "gpu-too-old-fa2"),
        (VOLTA, "FA2 crashes", "gpu-too-old-fa2"),
        (XFORMERS, "xformers does not load any more.", "xformers-torch-mismatch"),
    ],
)
def test_a_complaint_beside_facts(
    knowledge: Knowledge, facts: str, complaint: str, rule_id: str
) -> None:
    assert ids(knowledge, facts + complaint + "\n")[:1] == [rule_id]
    assert ids(knowledge, facts + "It is fast.\n") == []


@pytest.mark.parametrize(
    "complaint",
    [
        "KeyError: 'tokens'",
        "The disk fails.",
        "The download of a file does not work.",
        "Der Login am Server geht nicht.",
        "ConnectionError: the server does not answer on this GPU node",
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. cannot access",
    ],
)
def test_a_complaint_about_something_else(knowledge: Knowledge, complaint: str) -> None:
    assert ids(knowledge, f"{BLACKWELL}{complaint}\n") == []


def test_another_flash_attention_is_not_meant(knowledge: Knowledge) -> None:
    log = "Tesla V100-SXM2-32GB\nllama.cpp with -fa: flash attention fails\n"
    assert ids(knowledge, log) == []
    log = "Tesla V100-SXM2-32GB\nllama_cpp_python: flash attention fails\n"
    assert ids(knowledge, log) == []
    log = "Tesla V100-SXM2-32GB\nflash attention fails: CUDA kernel flash_attn_vec_ext_f32\n"
    assert ids(knowledge, log) == []


def test_of_a_long_log_no_sentence_is_a_complaint(knowledge: Knowledge) -> None:
    lines = tuple(Line(number, "it fails", "") for number in range(LINES_LIMIT + 1))
    assert complaining(lines, knowledge) == ()
    assert len(complaining(lines[:3], knowledge)) == 3


FORM = "### GPU\nRX 6800\n### Packages\n"
FORM += '{"torch": "2.4.1+cu121", "xformers": null}\n'


@pytest.mark.parametrize(
    "heading", ["### What you expected to happen", "**Actual behavior**", "## Describe the bug"]
)
def test_what_a_form_asks_trouble_for_is_a_complaint(knowledge: Knowledge, heading: str) -> None:
    answer = "The installer took the other list for my cards.\n"
    assert ids(knowledge, f"{FORM}{heading}\n{answer}") == ["torch-other-vendor"]
    assert ids(knowledge, f"{FORM}### Remarks\n{answer}") == []
    assert ids(knowledge, f"{FORM}{heading}\nThe editor is blue.\n### More\n{answer}") == []
