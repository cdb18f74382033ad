"""A question is no failing: it gets a note, and an error only where a failure is told, too."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise import told_rows
from fadoctor.model.finding import Severity
from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

ASKING = frozenset(
    {"wanted", "which-version", "build-how", "needed-asked", "build-asked", "use-meant"}
)
"""Ideas of a question or of a wish, which tell no failure."""

FAILING = frozenset(
    {"unsupported", "missing", "mismatch", "nothing-works", "nvidia-expected", "no-nvidia-found",
     "cuda-too-low", "install-fails"}
)  # fmt: skip
"""Ideas of a failure, or of a thing that cannot be."""

RULES = [
    # what others say counts after what was seen
    (
        ("有人说 V100 不支持 FlashAttention 2 所以不行。\ngcc 编译 rotary kernel 失败退出。"),
        "triton-launcher-gcc-fail",
    ),
    # a warning that nothing follows
    (
        (
            "HF prints the advice that Flash Attention 2 wants half-precision weights, and ours are"
            " in float32.\nThere are no errors afterwards, the reward grows."
        ),
        "fa2-init-dtype-warning",
    ),
    (
        ("日志大意是 Flash Attention 2 只支持半精度, 模型是 float32。\n之后训练照常进行。"),
        "fa2-init-dtype-warning",
    ),
    # a part that is fine, and another that ends
    (
        ("读数据那段一切正常。\n第一步就退出, 大意是 FlashAttention 只支持半精度, q 是 float32。"),
        "dtype-fp32-into-fa2",
    ),
    # a title that shortens the warning below
    (
        (
            "recipe X: Flash Attention 2.0 only supports fp16 and bf16\n\nThe log has\n"
            "Flash Attention 2.0 only supports torch.float16 and torch.bfloat16 dtypes, but the"
            " current dype in LlamaForCausalLM is torch.float32. You should run training or"
            " inference using Automatic Mixed-Precision via the"
            " `with torch.autocast(device_type='torch_device'):` decorator, or load the model"
            " with the `torch_dtype` argument."
        ),
        "fa2-init-dtype-warning",
    ),
]
"""Texts, and what they are about."""

TOLD: dict[str, Any] = read_plain(Path(__file__).with_name("told.yaml"))


def found(knowledge: Knowledge, text: str) -> list[tuple[str, Severity]]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return [(each.rule_id, each.severity) for each in report.findings[:1]]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("asked", TOLD["asked"], ids=str)
def test_a_question_without_a_failure_is_a_note(
    knowledge: Knowledge, asked: dict[str, str]
) -> None:
    assert found(knowledge, asked["text"]) == [(asked["rule"], Severity.NOTE)]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("asked", TOLD["asked_and_failing"], ids=str)
def test_a_failure_beside_a_question_keeps_its_weight(
    knowledge: Knowledge, asked: dict[str, str]
) -> None:
    assert found(knowledge, asked["text"]) == [(asked["rule"], Severity.ERROR)]


def test_a_row_that_a_mere_question_tells_says_so(knowledge: Knowledge) -> None:
    severity = {rule.id: rule.severity for rule in knowledge.rules}
    silent = []
    for row in knowledge.tables[told_rows.CAUSES].rows:
        ideas = {idea for key in ("says", "beside") for idea in cell(row.get(key))}
        if ideas & FAILING or not ideas & ASKING or severity[str(row["rule"])] is Severity.NOTE:
            continue
        if row.get("asks") is not True:
            silent.append(row["told"])
    assert silent == []


def cell(value: object) -> tuple[str, ...]:
    """Return the ideas of a cell, whether it is kept as words or as a list of them."""
    return tuple(" ".join(value).split() if isinstance(value, tuple) else str(value or "").split())


@pytest.mark.parametrize(("text", "rule"), RULES)
def test_what_was_seen_counts_before_what_is_said(
    knowledge: Knowledge, text: str, rule: str
) -> None:
    findings = explain(read_log(io.BytesIO(text.encode()), "text", knowledge), knowledge).findings
    assert [each.rule_id for each in findings][:1] == [rule]
