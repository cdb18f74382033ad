"""Evidence shows what a rule took and words that are known; all else is left out."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain import quoting
from fadoctor.judging.explain.quoting import Vocabulary, as_written, quote, vocabulary_of
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.logs.cleaning import Line


@pytest.fixture(scope="module")
def known() -> Vocabulary:
    return Vocabulary(load_knowledge())


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        "ImportError: /srv/v/lib/python3.11/site-packages/flash_attn_2_cuda.so: undefined symbol:",
        "_ZN3c105ErrorC2ENS_14SourceLocationESs",
        "torch 2.6.0+cu124 with CUDA 12.4, sm_90, 0x7f3a, 100%",
        'File "/opt/v/site-packages/transformers/modeling_utils.py", line 1739, in from_pretrained',
        "ValueError: Qwen2ForCausalLM does not support flash_attention_2",
        "nvcc -gencode arch=compute_90,code=sm_90 --threads 4",
    ],
)
def test_what_is_harmless_stays(line: str, known: Vocabulary) -> None:
    assert quote(line, {}, known) == line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("swordfishery RuntimeError: no kernel", "... RuntimeError: no kernel"),
        ("RuntimeError: xq9z Kq7vTz0Rw3LmXe9B no kernel", "RuntimeError: ... no kernel"),
        ("(swordfishery) and 'halibutage'", "... and ..."),
        ("error: Kq7vTz0Rw3LmXe9B", "error: ..."),
    ],
)
def test_what_cannot_be_told_apart_is_left_out(line: str, shown: str, known: Vocabulary) -> None:
    assert quote(line, {}, known) == shown


def test_what_the_rule_took_is_shown(known: Vocabulary) -> None:
    line = "No module named 'swordfishery' in halibutage"
    assert quote(line, {"name": "swordfishery"}, known) == "No module named 'swordfishery' in ..."


def test_words_are_gathered_once_and_few_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    knowledge = load_knowledge()
    words = vocabulary_of(knowledge)
    assert vocabulary_of(knowledge) is words
    monkeypatch.setattr(quoting, "_MOST_KEPT", 2)
    assert [words.has(word) for word in ("attention", "zzqx", "zzqy", "attention")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_a_line_is_shown_as_it_stands() -> None:
    """A line that was matched as a program prints it was shown so, with another meaning."""
    read = (Line(3, "FA 2 supports only fp16", ""), Line(4, "loss: 1", ""), Line(4, "loss: 2", ""))
    repaired = (Line(3, "FA 2 does not support fp16", ""), Line(4, "loss: 3", ""))
    assert [line.text for line in as_written(repaired, read)] == [read[0].text, "loss: 3"]
    part = Line(3, "supports only fp16", "")
    assert list(as_written((part,), read)) == [part]
