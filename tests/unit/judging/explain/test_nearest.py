"""The index over the pages of rules: near is no finding, and the order never changes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import NEAREST, explain, read_log
from fadoctor.judging.explain.nearest import Page, PageIndex, asked_by
from fadoctor.judging.explain.pages import load_pages

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

PAGES = (
    Page("a", "A", {"rotary": 3, "kernel": 1}),
    Page("b", "B", {"kernel": 5}),
    Page("c", "C", {"driver": 2, "kernel": 1, "old": 1}),
)


def test_rare_words_count_most() -> None:
    near = PageIndex(PAGES).near("the rotary kernel")
    assert [each.rule for each in near] == ["a", "b", "c"]
    assert [each.rule for each in PageIndex(PAGES).near("DRIVER too old")] == ["c"]
    assert PageIndex(PAGES).near("of the with") == ()
    assert PageIndex(PAGES).near("") == ()


def test_of_a_long_text_its_ends_are_asked_and_what_complains() -> None:
    lines = [f"line {number}" for number in range(500)]
    lines[250] = "RuntimeError: rotary"
    asked = asked_by(lines)
    assert "rotary" in asked
    assert "line 499" in asked
    assert "line 200" not in asked


@pytest.mark.parametrize(
    ("text", "rule_id"),
    [
        ("undefined symbol nccl", "abi-undefined-symbol-nccl"),
        ("sliding window softcap argument of flash attention", "fa-kwarg-too-old"),
        ("driver too old for CUDA", "driver-too-old"),
    ],
)
def test_shipped_pages(knowledge: Knowledge, text: str, rule_id: str) -> None:
    pages = load_pages(knowledge).pages
    assert len(pages) == len(knowledge.rules)
    assert rule_id in {each.rule for each in PageIndex(pages).near(text)}


def test_what_is_not_recognised_is_told_with_pages(knowledge: Knowledge) -> None:
    def notes(log: str) -> tuple[str, ...]:
        reading = read_log(io.BytesIO(log.encode()), "a.log", knowledge)
        report = explain(reading, knowledge)
        assert report.findings == ()
        return report.notes

    assert any(note.startswith(NEAREST) for note in notes("My flash-attn gives odd numbers.\n"))
    assert notes("Dear all, lunch is at noon.\n") == ()
