"""How often patterns are asked while a long log is explained: a count, whatever the machine does.

Most patterns stand in no line of a log; each is to be told so by one look through all lines.
"""

from __future__ import annotations

import io
from unittest.mock import patch

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise import told_words
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.syntax.patterns import LatePattern

LINES = 1_000
MOST_OF_A_LINE = 22
"""Patterns that are asked of a line, on average; 80 were before lines were looked through once."""

STEPS = tuple(
    f"2026-11-21 10:{number % 60:02}:07 INFO step {number} loss 0.{number:04} tokens {number * 7}"
    for number in range(LINES)
)
END = (
    "Traceback (most recent call last):",
    '  File "/opt/venv/lib/python3.11/site-packages/flash_attn/flash_attn_interface.py", line 90',
    "    out = flash_attn_gpu.varlen_fwd(",
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
)


def asked(text: str) -> int:
    """Return how often a pattern was asked whether a text may match."""
    knowledge = load_knowledge()
    real, count = LatePattern._may_match, 0

    def counted(pattern: LatePattern, text: str, *span: int) -> bool:
        nonlocal count
        count += 1
        return real(pattern, text, *span)

    with patch.object(LatePattern, "_may_match", counted):
        report = explain(read_log(io.BytesIO(text.encode()), "a.log", knowledge), knowledge)
    assert [each.rule_id for each in report.findings] == ["gpu-too-old-fa2"]
    return count


def test_few_patterns_are_asked_of_each_line_of_a_long_log() -> None:
    several = asked("\n".join((*STEPS, *END)))
    few = asked("\n".join((*STEPS[:10], *END)))
    assert (several - few) / LINES < MOST_OF_A_LINE


@pytest.mark.parametrize("head", ["Package    Version\n---------- -------\n", ""])
def test_the_rows_of_a_list_of_packages_tell_nothing(head: str) -> None:
    knowledge = load_knowledge()
    rows = "torch      2.8.0\nflash-attn 2.8.3\nnumpy      2.1.0\npeft       0.17.0\n"
    reading = read_log(io.BytesIO((head + rows).encode()), "a.txt", knowledge)
    with patch.object(told_words, "_Text", side_effect=AssertionError("read as told")):
        assert told_words.told_cause(reading.lines, reading.facts(), knowledge) is None


def test_a_sentence_beside_a_list_is_read() -> None:
    knowledge = load_knowledge()
    text = "torch      2.8.0\nflash-attn 2.8.3\nnumpy      2.1.0\nIt fails to import.\n"
    reading = read_log(io.BytesIO(text.encode()), "a.txt", knowledge)
    with (
        patch.object(told_words, "_Text", side_effect=InterruptedError),
        pytest.raises(InterruptedError),
    ):
        told_words.told_cause(reading.lines, reading.facts(), knowledge)
