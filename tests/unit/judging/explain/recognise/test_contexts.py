"""A trouble in one sentence, and the card or the package that it is about in another."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise import ideas
from fadoctor.judging.explain.recognise.contexts import told_apart
from fadoctor.judging.explain.recognise.ideas import ideas_of

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

KINDS = {"card", "vendor", "number", "package", "program", "system", "stack", "trouble"}


def found(knowledge: Knowledge, text: str) -> list[str]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return [each.rule_id for each in report.findings]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "We use flash-attn.\n\nSince Monday the import fails with an undefined symbol.",
            "abi-undefined-symbol",
        ),
        (
            "Sage attention is installed.\n\nMy video fails, each picture is black.",
            "sage-black-output",
        ),
        (
            "Radeon R9 270X, ROCm 6, Ubuntu.\n\nrocminfo does not see it: number of devices=0.",
            "rocm-card-asked",
        ),
    ],
)
def test_a_context_in_another_sentence_counts(knowledge: Knowledge, text: str, rule: str) -> None:
    assert found(knowledge, text) == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "flash-attn and xformers.\n\nSince Monday the import fails with an undefined symbol.",
        "Sage attention and xformers are installed.\n\nMy video fails, each picture is black.",
        "Radeon R9 270X and RX 7900 XTX, ROCm 6.\n\nrocminfo does not see it: number of devices=0.",
    ],
)
def test_two_contexts_of_a_kind_leave_it_open(knowledge: Knowledge, text: str) -> None:
    assert found(knowledge, text) == []


def test_what_may_be_said_of_anything_is_no_trouble_by_itself(knowledge: Knowledge) -> None:
    known = ideas_of(knowledge)
    assert told_apart(("flash", "missing"), known) == ()
    assert told_apart(("undefined-symbol",), known) == ()
    assert told_apart(("flash", "undefined-symbol", "missing"), known) == (
        "undefined-symbol",
        "missing",
    )


def test_ideas_name_known_kinds_of_context(knowledge: Knowledge) -> None:
    rows = knowledge.tables[ideas.WORDS].rows
    assert {row["names"] for row in rows if row.get("names")} <= KINDS


def test_an_idea_of_two_kinds_names_none(knowledge: Knowledge) -> None:
    known = ideas_of(knowledge)
    assert known.kind("flash|xformers") == "package"
    assert known.kind("flash|blackwell") == ""
