"""Texts that report no failure of attention, CUDA, torch or a build stay silent above a note."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.judge import judge
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Severity
from tests.unit.judging.explain.innocent.texts import healthy_states, innocent_text

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

TEXTS_A_TEST = 15
TESTS = 40


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("part", range(TESTS))
def test_nothing_is_said_above_a_note(knowledge: Knowledge, part: int) -> None:
    for seed in range(part * TEXTS_A_TEST, (part + 1) * TEXTS_A_TEST):
        text = innocent_text(seed)
        report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
        loud = [each.rule_id for each in report.findings if each.severity is not Severity.NOTE]
        assert not loud, f"{seed}: {loud}\n{text}"
        assert not any("do not go together" in note for note in report.notes), f"{seed}\n{text}"


@pytest.mark.long
@pytest.mark.parametrize(("name", "state"), healthy_states())
def test_no_error_is_found_in_a_healthy_environment(
    knowledge: Knowledge, name: str, state: str
) -> None:
    reading = read_log(io.BytesIO(state.encode()), "a.txt", knowledge)
    found = judge(reading.facts().environment, knowledge, Matrix(knowledge.tables)).findings
    assert not [f.rule_id for f in found if f.severity is not Severity.NOTE], f"{name}\n{state}"
