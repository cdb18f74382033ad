"""A library's own sentence says which package is missing, or which size GPUs cannot share."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

FRAME = 'Traceback (most recent call last):\n  File "/srv/e/run.py", line 9, in <module>\n'


def report_on(knowledge: Knowledge, log: str) -> Explanation:
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)


def loud(knowledge: Knowledge, log: str) -> list[str]:
    findings = report_on(knowledge, log).findings
    return [each.rule_id for each in findings if each.severity.value != "note"]


@pytest.mark.parametrize(
    "said",
    [
        "ValueError: query heads (30) must be divisible by tp_size (4)",
        "AssertionError: world size 6 is not divisible by tensor parallel size 4",
        "RuntimeError: num_gpus (5) must be a multiple of dp_size (2)",
        "Exception: the experts can not be shared: 60 must be divisible by ep_size 8",
        "AssertionError: dp(1) * tp(4) * pp(2) != world_size(4)",
    ],
)
def test_sizes_that_gpus_cannot_share(knowledge: Knowledge, said: str) -> None:
    report = report_on(knowledge, f"{FRAME}{said}\n")
    assert report.findings[0].rule_id == "parallel-size-unfit"
    assert report.findings[0].fixes[0].id == "sizes-of-the-message"
    assert said.partition(": ")[2] in report.findings[0].message


def test_a_title_is_read_too(knowledge: Knowledge) -> None:
    log = "# [Bug]: ValueError: num_heads (14) must be divisible by attn_tp_size (8)\nhelp!\n"
    assert loud(knowledge, log) == ["parallel-size-unfit"]


def test_what_stands_below_belongs_to_the_sentence(knowledge: Knowledge) -> None:
    log = f"{FRAME}ValueError: bad sizes,\nas 14 heads are not divisible\nby tp_size 8\n"
    assert loud(knowledge, log) == ["parallel-size-unfit"]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("ImportError: Please install aqlm first", "optional-package-missing"),
        ("RuntimeError: `timm` is not installed", "optional-package-missing"),
        ("ValueError: the tower needs the timm package", "optional-package-missing"),
        ("ImportError: run `pip install -U fast_hadamard_transform`", "optional-package-missing"),
        ("AssertionError: triton is not installed on this node", "triton-missing"),
        ("RuntimeError: pip install flash-attn before you start", "hf-fa2-not-installed"),
    ],
)
def test_packages_that_are_missing(knowledge: Knowledge, said: str, rule: str) -> None:
    assert loud(knowledge, f"{FRAME}{said}\n") == [rule]


def test_the_command_names_the_distribution(knowledge: Knowledge) -> None:
    report = report_on(knowledge, f"{FRAME}ImportError: Please install fast_hadamard_transform.\n")
    assert report.findings[0].fixes[0].steps[0].text == "pip install fast-hadamard-transform"


def test_a_name_that_no_table_lists_is_not_repeated(knowledge: Knowledge) -> None:
    report = report_on(knowledge, f"{FRAME}RuntimeError: run pip install zz-unheard-of\n")
    fix = report.findings[0].fixes[0]
    assert fix.id == "install-by-the-printed-command"
    assert not any("zz-unheard-of" in step.text for step in fix.steps)


@pytest.mark.parametrize(
    "log",
    [
        "ValueError: embed_dim (100) must be divisible by num_heads (12)",
        "ValueError: global batch 30 is not divisible by world size 4",
        "KeyError: 'tp_size'",
        "which tp_size must divide 40 heads? All runs.",
        "I ran pip install timm, and all is well",
        "HTTPError: Please install an SSH key",
        "ImportError: please install it again",
        "ValueError: output tensor size must be equal to world_size times input tensor size",
        "ValueError: you must install torch greater or equal to 1.10",
        "ImportError: please install torch and zzpack for such files",
        "NameError: no X\n1. Did you update? `pip install --upgrade timm`",
    ],
)
def test_other_sentences_say_nothing(knowledge: Knowledge, log: str) -> None:
    assert loud(knowledge, f"{log}\n") == []


def test_a_wording_comes_first(knowledge: Knowledge) -> None:
    log = (
        f"{FRAME}AssertionError: 17 is not divisible by 4\nvllm, num_gpus must be divisible by 4\n"
    )
    report = report_on(knowledge, log)
    assert "size of the model is 17" in report.findings[0].message


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("RuntimeError: GPU is required to run such weights.", "torch-sees-no-gpu"),
        ("ImportError: Please update your peft to at least 0.12", "release-asked-for"),
        ("ValueError: LoRA here is for transformers v5.4.0 and above.", "release-asked-for"),
        ("ImportError: peft package version to be greater or equal to 0.2", "release-asked-for"),
    ],
)
def test_other_forms(knowledge: Knowledge, said: str, rule: str) -> None:
    assert loud(knowledge, f"{FRAME}{said}\n") == [rule]


def test_too_little_memory_is_a_note(knowledge: Knowledge) -> None:
    report = report_on(knowledge, f"{FRAME}RuntimeError: No enough gpu memory for kv cache.\n")
    assert [(each.rule_id, each.severity.value) for each in report.findings] == [
        ("gpu-memory-too-small", "note")
    ]
