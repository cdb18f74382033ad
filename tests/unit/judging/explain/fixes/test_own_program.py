"""Advice for several programs is cut to the part of the program in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.explain.fixes.own_program import OwnProgram
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import facts_of

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

GRAPHS = "vLLM: --enforce-eager. SGLang: --disable-cuda-graph. Use it until the server starts."
OLDER = "SGLang before 0.4: --a. Newer: --b. vLLM: C=0."
SERVES = "$ vllm serve a/b"


@pytest.mark.parametrize(
    ("line", "advice", "left"),
    [
        (SERVES, GRAPHS, "vLLM: --enforce-eager. Use it until the server starts."),
        ("our sglang stops", OLDER, "SGLang before 0.4: --a. Newer: --b."),
        (SERVES, OLDER, "vLLM: C=0."),
        (SERVES, "ComfyUI: --a. SGLang: --b.", "ComfyUI: --a. SGLang: --b."),
        (SERVES, "vLLM: --a. On Windows: --b.", "vLLM: --a. On Windows: --b."),
        ("a program stops", GRAPHS, GRAPHS),
        ("one of vllm and one of sglang stop", GRAPHS, GRAPHS),
    ],
)
def test_parts_of_other_programs_are_left_out(
    knowledge: Knowledge, line: str, advice: str, left: str
) -> None:
    matrix = Matrix(knowledge.tables)
    said = facts_of((Line(1, line, ""),), "a.txt", matrix)
    scope = Scope(said.environment, matrix, knowledge.rules[0], {})
    fix = Fix("a", "A title", steps=(Step(StepKind.ADVICE, advice),))
    (step,) = OwnProgram(scope, [line]).advised(fix).steps
    assert step.text == left
