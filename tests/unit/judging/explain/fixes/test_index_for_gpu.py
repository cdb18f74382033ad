"""An index whose torch has no code for the one GPU of a log gives way to one whose torch has."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

TRITON = "RuntimeError: 0 active drivers ([]). There should only be one.\ntorch==2.8.0+cpu\n"


def first_fix(knowledge: Knowledge, text: str) -> str:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return "\n".join(step.text for step in report.findings[0].fixes[0].steps)


@pytest.mark.parametrize("card", ["GTX 1070", "GTX 1080 Ti", "Tesla P40"])
def test_an_older_card_gets_the_index_with_its_code(knowledge: Knowledge, card: str) -> None:
    said = first_fix(knowledge, f"{card} on Linux\n{TRITON}")
    assert "--index-url https://download.pytorch.org/whl/cu126" in said
    assert "whl/cu128" not in said


@pytest.mark.parametrize("card", ["RTX 3070", "RTX 5070", "two cards"])
def test_a_card_with_code_keeps_the_index(knowledge: Knowledge, card: str) -> None:
    assert "whl/cu128" in first_fix(knowledge, f"{card} on Linux\n{TRITON}")


def test_cards_of_two_kinds_keep_the_index(knowledge: Knowledge) -> None:
    assert "whl/cu128" in first_fix(knowledge, f"a GTX 1070 and an RTX 3070\n{TRITON}")


def test_a_pinned_release_decides(knowledge: Knowledge) -> None:
    said = first_fix(
        knowledge,
        "GTX 1060\nE:\\sd-webui-forge-aki-v1.0\\launch.py\n"
        "RuntimeError: Your device does not support the current version of Torch/CUDA",
    )
    assert "torch==2.7.1" in said
    assert "whl/cu128" not in said
