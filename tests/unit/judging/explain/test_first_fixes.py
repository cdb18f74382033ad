"""The fix that comes first depends on the words of a log: each text has the one that helps it."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.vendor import Vendor
from fadoctor.model.fix import StepKind
from fadoctor.report.markdown import alike, render
from fadoctor.report.markdown_screen import SCREEN, height
from fadoctor.sources.logs.cleaning import Line
from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

TEXTS: dict[str, list[str]] = read_plain(Path(__file__).with_name("first_fixes.yaml"))


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("wanted", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts]
)
def test_the_first_fix_is_for_this_text(knowledge: Knowledge, wanted: str, text: str) -> None:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    first = report.findings[0]
    assert f"{first.rule_id} {first.fixes[0].id}" == wanted
    assert height(render(report)) <= SCREEN * len(alike(report.findings))
    if Vendor([Line(1, text, "")], knowledge).name == "amd":
        assert of_cuda(report) == []


# download.pytorch.org/whl/cu128 | nvidia-cudnn-cu12 | FLASHINFER
OF_CUDA = re.compile(
    r"whl/(?:nightly/)?cu\d|\bcu1[1-3]\d?\b|\bnvcc\b|CUDA_HOME|nvidia-(?!smi)|(?i:flashinfer)"
)


def of_cuda(report: Explanation) -> list[str]:
    """Return the steps that install or call something of CUDA, advice included."""
    steps = [each for found in report.findings for fix in found.fixes for each in fix.steps]
    texts = [f"{step.text} {' '.join(step.items)} {step.index}" for step in steps]
    return [text for text in texts if OF_CUDA.search(text)]


def test_each_fix_for_certain_words_has_a_text(knowledge: Knowledge) -> None:
    of_words = {
        f"{rule.id} {fix.id}" for rule in knowledge.rules for fix in rule.fixes if fix.logged
    }
    kept = {
        f"{general} {name.partition(' ')[2]}"
        for rule in knowledge.rules
        for refined in rule.refines
        if refined.keeps
        for general in refined.of
        for name in TEXTS
        if name.startswith(f"{rule.id} ")
    }
    """What a special rule has of a general one."""
    assert of_words - TEXTS.keys() - kept == set()


def test_a_run_that_only_says_more_comes_behind_what_may_help(knowledge: Knowledge) -> None:
    text = (
        "axolotl with flash_attention: true\n"
        "flash_attn/bert_padding.py: RuntimeError: CUDA error: an illegal memory access was "
        "encountered"
    )
    fixes = (
        explain(read_log(io.BytesIO(text.encode()), "a", knowledge), knowledge).findings[0].fixes
    )
    assert [fix.id for fix in fixes] == ["compare-sdpa", "find-the-kernel"]


def test_fixes_for_a_package_that_no_line_names_are_left_out(knowledge: Knowledge) -> None:
    """A node that lacks a part of sageattention was told to install SGLang again."""
    text = (
        "C:\\ui\\Lib\\site-packages\\sageattention\\core.py\nImportError: DLL load failed while "
        "importing _qattn_sm89: The specified procedure could not be found."
    )
    report = explain(read_log(io.BytesIO(text.encode()), "a", knowledge), knowledge)
    titles = "\n".join(fix.title for fix in report.findings[0].fixes)
    assert "sageattention" in titles
    assert not re.search(r"SGLang|xformers|flash-attn", titles)


def test_a_cell_that_is_not_found_has_no_words_of_its_key(knowledge: Knowledge) -> None:
    """Where torch may be for one of several CUDA, these were named as releases of the driver."""
    text = (
        "torch 2.9.0 on Linux\n"
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."
    )
    report = explain(read_log(io.BytesIO(text.encode()), "a", knowledge), knowledge)
    steps = [step.text for fix in report.findings[0].fixes for step in fix.steps]
    assert "Install NVIDIA driver 580 or newer on the host, and restart it." in steps


OF_NO_MAC = re.compile(
    r"(?i)nvidia|cuda(?![a-z])|\bapt(?:-get)?\b|(?:xformers|bitsandbytes|flash-attn)=="
)
# an address, a part or a system of another machine
ANOTHER_MACHINE = re.compile(
    r"(?i)\b(?:rtx|gtx|quadro|tesla|geforce) ?[a-z]?\d|\b(?:[avhbl]\d00s?|t4|p40|l40s?)\b|\bssh\b"
    r"|nvidia-smi|\bremote|linux|ubuntu|windows|win_amd64|colab|kaggle|[a-z]:\\|/home/|/usr/|radeon"
    r"|rocm|gfx\d|jetson|wsl|runpod|\brx \d"
)
ON_A_MAC = ("It is my MacBook with an M2.", "System: macOS 14.5", "机器是 Mac M1 电脑")


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("text", [text for texts in TEXTS.values() for text in texts])
def test_no_first_fix_on_a_mac_is_for_another_machine(knowledge: Knowledge, text: str) -> None:
    if ANOTHER_MACHINE.search(text):
        return
    said = f"{text}\n{ON_A_MAC[len(text) % len(ON_A_MAC)]}\n"
    report = explain(read_log(io.BytesIO(said.encode()), "a.txt", knowledge), knowledge)
    for fix in report.findings[0].fixes[:1] if report.findings else ():
        parts = [fix.title, *(step.text for step in fix.steps)]
        if not any(re.search(r"\bMac\b|macOS|\bmps\b|sys_platform", part) for part in parts):
            assert [part for part in parts if OF_NO_MAC.search(part)] == []
        runs = [step.text for step in fix.steps if step.kind in (StepKind.SYSTEM, StepKind.INSTALL)]
        if "sys_platform" not in "\n".join(parts):
            assert [text for text in runs if OF_NO_MAC.search(text)] == []
