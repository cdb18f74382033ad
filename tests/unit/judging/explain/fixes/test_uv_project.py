"""What a fix installs in a project of uv goes into pyproject.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.fixes.uv_project import as_uv_adds
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Safety, Step, StepKind

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def added(knowledge: Knowledge, *steps: Step) -> list[str]:
    fix = as_uv_adds(Fix("a", "A", Safety.SAFE, steps), Matrix(knowledge.tables))
    return [step.text for step in fix.steps]


def test_a_plain_requirement_is_added(knowledge: Knowledge) -> None:
    step = Step(StepKind.INSTALL, "pip install 'peft>=0.18,<1'", ("peft>=0.18,<1",))
    assert added(knowledge, step) == ["uv add 'peft>=0.18,<1'"]


def test_what_has_options_of_pip_stays(knowledge: Knowledge) -> None:
    text = "pip install --no-build-isolation flash-attn==2.8.3"
    step = Step(StepKind.INSTALL, text, ("flash-attn==2.8.3",), options=("--no-build-isolation",))
    assert added(knowledge, step) == [text]


def test_a_line_of_pip_with_one_requirement_is_added(knowledge: Knowledge) -> None:
    line = Step(StepKind.SYSTEM, 'pip install -U "accelerate>=0.26.0"')
    other = Step(StepKind.SYSTEM, "pip install --pre flash-attn-4")
    assert added(knowledge, line, other) == ['uv add "accelerate>=0.26.0"', other.text]
