"""The index over the pages of rules: near is no finding, and the order never changes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.nearest import (
    DECIDES,
    NEAREST,
    QUESTIONS,
    STEPS,
    Near,
    PageIndex,
    asked_by,
    harmless_title,
    question_of,
)
from fadoctor.judging.explain.recognise.page_words import Page, packed, vectors
from fadoctor.judging.explain.recognise.pages import load_pages
from fadoctor.model.fix import Fix, Step, StepKind

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

TEXTS = {"a": ["rotary kernel"], "b": ["kernel kernel"], "c": ["driver old kernel"]}
INDEX = packed((Page(name, name.upper()), vector) for name, vector in vectors(TEXTS).items())


def test_rare_words_count_most() -> None:
    near = PageIndex(INDEX).near("the rotary kernel")
    assert [each.rule for each in near] == ["a", "b", "c"]
    assert [each.rule for each in PageIndex(INDEX).near("DRIVER too old")] == ["c"]
    assert PageIndex(INDEX).near("of the with") == ()
    assert PageIndex(INDEX).near("") == ()


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
        ("系统的glibc版本太低", "glibc-too-old"),
        ("RTX 5090: this torch build has no code for it", "torch-arch-unsupported"),
    ],
)
def test_shipped_pages(knowledge: Knowledge, text: str, rule_id: str) -> None:
    index = load_pages(knowledge).index
    assert len(index.pages) == len(knowledge.rules)
    assert rule_id in {each.rule for each in PageIndex(index).near(text)}


def test_what_is_not_recognised_is_told_with_pages(knowledge: Knowledge) -> None:
    def notes(log: str) -> tuple[str, ...]:
        reading = read_log(io.BytesIO(log.encode()), "a.log", knowledge)
        report = explain(reading, knowledge)
        assert report.findings == ()
        return report.notes

    near = next(note for note in notes("My flash-attn gives odd numbers.\n") if NEAREST in note)
    titles = {rule.id: rule.title for rule in knowledge.rules}
    first = next(rule_id for rule_id in titles if f"({rule_id});" in near)
    assert f"{titles[first]} ({first});" in near
    assert notes("Dear all, lunch is at noon.\n") == ()


def test_the_question_of_a_page_is_asked_where_it_is_clearly_ahead(knowledge: Knowledge) -> None:
    first, next_ = Near("driver-too-old", "", 6.0), Near("torch-cpu-only", "", 5.5)
    assert question_of((first, next_), knowledge) == ""
    far = (first, Near("torch-cpu-only", "", 2.0))
    assert question_of(far, knowledge).startswith("Which driver")
    assert question_of((Near("no-such-rule", "", 6.0), far[1]), knowledge) == ""
    assert question_of(far[:1], knowledge) == ""


def test_the_question_is_told_of_what_complains(knowledge: Knowledge) -> None:
    def notes(log: str) -> tuple[str, ...]:
        reading = read_log(io.BytesIO(log.encode()), "a.log", knowledge)
        return explain(reading, knowledge).notes

    told = notes("The Fabric Manager of my H100 is odd, NVSwitch fails\n")
    assert any(note.startswith(f"{DECIDES} fabric-manager-missing: Does `sys") for note in told)
    quiet = notes("What is the Fabric Manager of an H100 with NVSwitch for?\n")
    assert not any(note.startswith(DECIDES) for note in quiet)


def test_first_steps_that_change_a_machine_are_not_told(knowledge: Knowledge) -> None:
    def notes(log: str) -> str:
        reading = read_log(io.BytesIO(log.encode()), "a.log", knowledge)
        report = explain(reading, knowledge)
        assert report.findings == ()
        return "\n".join(report.notes)

    told = notes("The Fabric Manager of my H100 is odd, NVSwitch fails\n")
    assert "fabric-manager-missing" in told.partition(STEPS)[0]
    assert "fabric-manager-missing: " not in told.partition(STEPS)[2].partition("\n")[0]
    assert STEPS not in notes("What is the Fabric Manager of an H100 with NVSwitch for?\n")


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (Step(StepKind.ADVICE, "Write num_workers=0."), True),
        (Step(StepKind.SET, "A=1", ("A=1",)), True),
        (Step(StepKind.INSTALL, "x", ("x",)), False),
        (Step(StepKind.ADVICE, "Run pip install x."), False),
        (Step(StepKind.SYSTEM, "sudo rm -rf /opt/x"), False),
    ],
)
def test_what_changes_a_machine_is_no_first_step(step: Step, *, told: bool) -> None:
    fix = Fix("a", "Use fewer workers", steps=(step,))
    assert harmless_title(fix) == ("Use fewer workers" if told else "")
    assert harmless_title(Fix("a", "Use it", steps=(step,), side_effects="It is slow.")) == ""


def test_each_question_belongs_to_a_rule_and_is_one(knowledge: Knowledge) -> None:
    ids = {rule.id for rule in knowledge.rules}
    rows = knowledge.tables[QUESTIONS].rows
    assert {row["page"] for row in rows} <= ids
    assert len({row["page"] for row in rows}) == len(rows)
