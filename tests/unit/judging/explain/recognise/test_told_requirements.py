"""Lines of installers about requirements: facts, and the rule that each is about."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.told_requirements import told_in
from fadoctor.sources.logs.cleaning import Line

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge


def explained(knowledge: Knowledge, log: str) -> Explanation:
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            (
                "ERROR: vllm 0.15.1 requires transformers<5,>=4.57.0, but you have "
                "transformers 5.1.0 which is incompatible."
            ),
            ("vllm", "0.15.1", "transformers", "<5,>=4.57.0", "5.1.0", False),
        ),
        (
            (
                'xformers 0.0.27 requires torch==2.3.1; sys_platform == "linux", but you have '
                "torch 2.4.0+cu121 which is incompatible."
            ),
            ("xformers", "0.0.27", "torch", "==2.3.1", "2.4.0+cu121", False),
        ),
        (
            "flash-attn 2.8.2 requires einops, which is not installed.",
            ("flash-attn", "2.8.2", "einops", "", "", True),
        ),
        (
            (
                "transformers[torch] and trl 0.9.6 requires Accelerate[x]>=0.21.0, but you'll have "
                "accelerate 0.20.3 which is incompatible."
            ),
            ("trl", "0.9.6", "accelerate", ">=0.21.0", "0.20.3", False),
        ),
        (
            "And because vllm (0.6.4.post1) depends on tokenizers (>=0.19.1,<0.20)",
            ("vllm", "0.6.4.post1", "tokenizers", ">=0.19.1,<0.20", "", False),
        ),
        (
            "torchdata 0.7.1 requires torch==2.1.1, but you have torch 2.4 which is incompatible.",
            ("torchdata", "0.7.1", "torch", "==2.1.1", "2.4", False),
        ),
    ],
)
def test_what_a_line_says(line: str, expected: tuple[str, str, str, str, str, bool]) -> None:
    ((told, _),) = told_in([Line(1, line, "")])
    said = (told.asker, told.release, told.needs, told.specifier, told.found, told.is_missing)
    assert said == expected


@pytest.mark.parametrize(
    "line",
    [
        "jupyter 1.0 requires notebook>=6, but you have notebook 5 which is incompatible.",
        "The model requires torch and a GPU.",
        "vllm 0.6.0 was installed",
        "torch==2.4.0 is required for a normal functioning of this module, but found torch==2.5.0.",
    ],
)
def test_what_is_about_others_is_not_read(line: str) -> None:
    assert told_in([Line(1, line, "")]) == ()


@pytest.mark.parametrize(
    ("line", "rule_id", "command"),
    [
        (
            (
                "vllm 0.15.1 requires transformers<5,>=4.57.0, but you have "
                "transformers 5.1.0 which is incompatible."
            ),
            "requirement-unmet",
            "pip install 'transformers>=4.56.0,<5'",
        ),
        (
            "vllm 0.6.1 requires torch==2.4.0, but you have torch 2.5.1 which is incompatible.",
            "vllm-torch-mismatch",
            (
                "pip install --index-url https://download.pytorch.org/whl/cu121 torch==2.4.0+cu121 "
                "torchvision==0.19.0 torchaudio==2.4.0"
            ),
        ),
        ("flash-attn 2.8.2 requires torch, which is not installed.", "torch-missing", ""),
        (
            "The package `vllm` requires `transformers<5,>=4.57.0`, but `5.1.0` is installed",
            "requirement-unmet",
            "",
        ),
        (
            "VersionConflict: (torch 2.4.0 (/x), Requirement.parse('torch==2.3.1'), {'xformers'})",
            "xformers-torch-mismatch",
            "",
        ),
        (
            "torch 2.4.1\nxformers==0.0.30 requires torch==2.7.0pip",
            "xformers-torch-mismatch",
            "",
        ),
    ],
)
def test_it_is_the_cause_with_its_fix(
    knowledge: Knowledge, line: str, rule_id: str, command: str
) -> None:
    report = explained(knowledge, f"{line}\n")
    assert report.findings[0].rule_id == rule_id
    assert report.findings[0].severity.value == "warning"
    texts = [step.text for fix in report.findings[0].fixes for step in fix.steps]
    assert not command or command in texts


def test_what_is_met_is_no_cause(knowledge: Knowledge) -> None:
    log = "torch 2.7.0\nxformers==0.0.30 requires torch==2.7.0\n"
    assert explained(knowledge, log).findings == ()


@pytest.mark.parametrize(
    "line",
    [
        "some-plugin 1.2 requires torch==2.0",
        "some-plugin 1.2 requires torch<2.7, but you have torch 2.8.0 which is incompatible.",
        "some-plugin 1.2 requires torch, which is not installed.",
        "tensorflow-intel 2.15 requires numpy<2, but you have numpy 2.1.0 which is incompatible.",
    ],
)
def test_of_packages_of_any_name_only_what_is_certain_is_read(line: str) -> None:
    assert told_in([Line(1, line, "")]) == ()


def test_transformer_engine_has_a_rule_of_its_own(knowledge: Knowledge) -> None:
    report = explained(
        knowledge,
        "transformer-engine 1.5.0+6a9edc3 requires flash-attn<=2.4.2,>=2.0.6, but you have "
        "flash-attn 2.6.1 which is incompatible.\n",
    )
    assert [each.rule_id for each in report.findings] == ["te-flash-attn-range"]


def test_what_a_stranger_requires_is_a_note_where_something_else_ends_the_log(
    knowledge: Knowledge,
) -> None:
    line = "somelib 1.4 requires torch==2.7.1, but you have torch 2.8.0 which is incompatible.\n"
    (alone,) = explained(knowledge, line).findings
    assert (alone.rule_id, alone.severity.value) == ("requirement-unmet", "warning")
    (aside,) = explained(knowledge, f"{line}KeyError: 'price'\n").findings
    assert aside.severity.value == "note"


def test_what_a_rule_has_the_words_of_is_told_once(knowledge: Knowledge) -> None:
    line = "The 'einops' distribution was not found and is required by flash-attn\n"
    assert [each.rule_id for each in explained(knowledge, line).findings] == [
        "distribution-not-found"
    ]


def test_of_an_asker_without_a_release_only_the_line_is_said(knowledge: Knowledge) -> None:
    line = "The package `vllm` requires `torch==2.4.0`, but `2.5.1` is installed\n"
    (found,) = explained(knowledge, line).findings
    assert found.message.startswith("vllm requires torch==2.4.0, but torch 2.5.1 is installed.")
    assert not any("unknown" in str(each) for each in found.evidence)


def test_of_a_list_the_two_are_named_that_exclude_each_other(knowledge: Knowledge) -> None:
    log = (
        "ERROR: Cannot install lanternlib because these package versions have conflicting "
        "dependencies.\nThe conflict is caused by:\n"
        "    accelerate 0.34.1 depends on torch>=1.10.0\n"
        "    peft 0.7.1 depends on torch>=1.13.0\n"
        "    trl 0.9.6 depends on torch==2.2.0\n"
        "    unsloth-zoo 2024.10.1 depends on torch>=2.4.0\n"
    )
    found = explained(knowledge, log).findings[0]
    assert found.rule_id == "requirement-unmet"
    assert found.message.startswith(
        "unsloth-zoo 2024.10.1 requires torch>=2.4.0, and trl 0.9.6 requires torch==2.2.0."
    )
    assert found.fixes[0].id == "releases-of-the-pair"


def test_a_list_of_what_fits_is_left_as_it_is(knowledge: Knowledge) -> None:
    log = (
        "The conflict is caused by:\n"
        "    accelerate 0.34.1 depends on torch>=1.10.0\n"
        "    peft 0.7.1 depends on torch>=1.13.0\n"
    )
    assert "another release is required" in explained(knowledge, log).findings[0].message
