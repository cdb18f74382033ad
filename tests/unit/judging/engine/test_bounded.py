"""Ranges that fixes install hold no release that needs another torch or Python."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.bounded import another_python, bounded_step, refused_by
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Fact, Known
from fadoctor.model.fix import Step, StepKind

NEW = "transformers>=4.49.0,<=5.24.0"


def told(item: str, **facts: str) -> tuple[Step | None, str]:
    known: dict[str, Fact] = {
        f"{name}.version": Known(value, "a log") for name, value in facts.items()
    }
    environment = Environment("0", Target(kind=OF_A_LOG, label="log", reason="here"), known)
    step = Step(StepKind.INSTALL, f"pip install '{item}'", (item,))
    matrix = Matrix(load_knowledge().tables)
    return bounded_step(step, environment, matrix), another_python(step, environment, matrix)


def bounded(item: str, **facts: str) -> tuple[str, ...]:
    found, _ = told(item, **facts)
    return found.items if found is not None else ()


@pytest.mark.parametrize(
    ("facts", "left"),
    [
        ({"torch": "2.5.1+cu124"}, ("transformers>=4.49.0,<5.20",)),
        ({"torch": "2.9.0", "python": "3.10"}, ("transformers>=4.49.0,<5.21",)),
        ({"torch": "2.9.0", "python": "3.12"}, (NEW,)),
        ({}, (NEW,)),
    ],
)
def test_the_upper_end(facts: dict[str, str], left: tuple[str, ...]) -> None:
    assert bounded(NEW, **facts) == left


def test_none_is_left() -> None:
    assert bounded("transformers>=5.21.0,<=5.24.0", torch="2.5.1") == ()


def test_other_requirements_stay() -> None:
    assert bounded("torch==2.8.0", torch="2.5.1") == ("torch==2.8.0",)
    assert bounded("peft>=0.17,<0.18", torch="1.0") == ("peft>=0.17,<0.18",)
    assert bounded("my-trl>=0.14.0,<1", python="3.8") == ("my-trl>=0.14.0,<1",)


@pytest.mark.parametrize(
    ("item", "python", "left"),
    [
        ("peft>=0.12.0,<=0.21.2", "3.8", "peft>=0.12.0,<0.14.0"),
        ("peft>=0.14.0,<=0.21.2", "3.9.18", "peft>=0.14.0,<0.18.0"),
        ("trl>=0.14.0,<1", "3.10", "trl>=0.14.0,<1"),
        ("trl==0.11.4", "3.8", "trl==0.11.4"),
    ],
)
def test_releases_that_this_python_takes(item: str, python: str, left: str) -> None:
    assert bounded(item, python=python) == (left,)


@pytest.mark.parametrize("item", ["trl>=0.14.0,<1", "trl==0.14.0", "peft>=0.14.0,<=0.21.2"])
def test_a_release_that_needs_a_newer_python(item: str) -> None:
    left, sentence = told(item, python="3.8")
    assert left is None
    assert "Python 3.9 or newer" in sentence
    assert "does not install on Python 3.8" in sentence


def test_another_torch_is_no_other_python() -> None:
    assert told("transformers>=5.21.0,<=5.24.0", torch="2.5.1", python="3.12") == (None, "")


HERE: dict[str, Fact] = {
    "packages.named": Known(
        {"whisperx": "3.3.1", "ctranslate2": "4.4.0", "torch": "2.6.0"}, "a list of packages"
    ),
    "torch.version": Known("2.6.0", "a list of packages"),
}


def step_for(item: str) -> tuple[Step | None, str]:
    environment = Environment("0", Target(kind=OF_A_LOG, label="log", reason="here"), HERE)
    step = Step(StepKind.INSTALL, f"pip install '{item}'", (item,))
    matrix = Matrix(load_knowledge().tables)
    return bounded_step(step, environment, matrix), refused_by(step, environment, matrix)


def test_what_an_installed_package_refuses_is_not_installed() -> None:
    """Regression: a ctranslate2 was printed that the installed whisperx does not allow."""
    found, said = step_for("ctranslate2>=4.8.5,<5")
    assert found is None
    assert said.startswith("whisperx 3.3.1 requires ctranslate2<4.5.0")
    assert "pip install whisperx==" in said


def test_what_it_allows_is_installed() -> None:
    found, said = step_for("ctranslate2>=4.3,<4.5")
    assert found is not None
    assert found.items == ("ctranslate2>=4.3,<4.5",)
    assert said == ""
