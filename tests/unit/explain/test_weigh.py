"""What facts of the same log make of the causes that it shows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.explain.explain import explain, read_log
from fadoctor.model.explanation import Agreement

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

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
