"""Requirements that a person tells of: any language, any order, a package that asks."""

from __future__ import annotations

import pytest

from fadoctor.sources.pasted.requirement_lines import requirement_lines
from fadoctor.sources.pasted.requirement_rows import ToldRequirement
from fadoctor.sources.pasted.requirements_in_words import told_by_people

Row = ToldRequirement


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (
            "unsloth wants torch<2.9 and I have torch 2.9.1 here",
            Row("unsloth", "", "torch", "<2.9", "2.9.1"),
        ),
        (
            "trl 0.24.0 asks for transformers>=4.56.1, but 4.51.3 is installed",
            Row("trl", "0.24.0", "transformers", ">=4.56.1", "4.51.3"),
        ),
        (
            "pip 说 peft 需要 transformers>=5 而我装的是 transformers 4.57",
            Row("peft", "", "transformers", ">=5", "4.57"),
        ),
        (
            "vllm は torch==2.9.0 を要求、手元は 2.8.0 です",
            Row("vllm", "", "torch", "==2.9.0", "2.8.0"),
        ),
        (
            "xformers verlangt torch==2.8.0, bei mir ist 2.9.1",
            Row("xformers", "", "torch", "==2.8.0", "2.9.1"),
        ),
        (
            "diffusers exige huggingface-hub>=0.34, y tengo 0.30.2",
            Row("diffusers", "", "huggingface-hub", ">=0.34", "0.30.2"),
        ),
        (
            "unsloth has requirement xformers>=0.0.29, but you have xformers 0.0.24",
            Row("unsloth", "", "xformers", ">=0.0.29", "0.0.24"),
        ),
    ],
)
def test_what_is_told_in_words(line: str, row: ToldRequirement) -> None:
    assert tuple(told_by_people(line)) == (row,)


@pytest.mark.parametrize(
    "line",
    [
        "pip install unsloth 'torch<2.9'",
        "unsloth works. My project needs torch<2.9, and 2.9.1 is installed",
        "because vllm is there and you require torch==2.9.1",
        "our image needs torch>=2.4",
        "peft depends on triton>=3.0, but I have triton-windows 3.4",
        "torch>=2.4 and transformers>=4.50",
    ],
)
def test_what_no_package_asks_for(line: str) -> None:
    assert not tuple(told_by_people(line))


def test_a_form_of_an_installer_is_read_once() -> None:
    line = "vllm 0.11.0 has requirement torch==2.8.0, but you have torch 2.8.1+cu128."
    assert tuple(requirement_lines(line)) == (
        Row("vllm", "0.11.0", "torch", "==2.8.0", "2.8.1+cu128"),
    )


def test_a_version_before_its_verb_is_that_of_the_package_named_there() -> None:
    """Regression: the release of transformers was read as that of torch."""
    assert not list(told_by_people("unsloth wants torch<2.9, transformers 5.2.0 is installed"))
    (told,) = told_by_people("unsloth wants torch<2.9, 2.9.1 is installed")
    assert told.found == "2.9.1"
