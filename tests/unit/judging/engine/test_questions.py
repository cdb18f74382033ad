"""What is asked of a person: by the fact that decides, and in commands that print it."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.engine.questions import question_about
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Fact, Known
from tests.unit.judging.engine.builders import rule


def scope(kind: str, facts: dict[str, Any]) -> Scope:
    known: dict[str, Fact] = {name: Known(value, "a log") for name, value in facts.items()}
    world = Environment("0", Target(kind, "log", "test"), known)
    return Scope(world, Matrix(load_knowledge().tables), rule(), {"gpu": "gpu[0]"})


@pytest.mark.parametrize(
    ("fact", "command"),
    [
        ("torch.cuda.major", "pip show torch"),
        ("gpu.compute_capability", "nvidia-smi -L"),
        ("gpu[0].name", "nvidia-smi -L"),
        ("driver.version", "nvidia-smi"),
        ("x_transformers.version", "pip show x-transformers"),
        ("toolkit.count", "nvcc --version"),
    ],
)
def test_each_fact_has_its_command(fact: str, command: str) -> None:
    asked = question_about(fact, scope(OF_A_LOG, {}))
    assert asked is not None
    assert f"`{command}`" in asked.how


def test_what_no_person_can_tell_is_not_asked() -> None:
    assert question_about("package.unmet_told", scope(OF_A_LOG, {})) is None
    assert question_about("vllm.requires", scope(OF_A_LOG, {"vllm.version": "0.11.0"})) is None


def test_of_an_environment_the_thing_is_named() -> None:
    asked = question_about("torch.cuda", scope("python", {}))
    assert asked is not None
    assert "the CUDA of torch" in asked.how
    assert "--python" in asked.how
