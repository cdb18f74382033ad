"""A system that a sentence names bounds the files that a fix may install."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

QUESTION = "Which flash-attn wheel do I install? torch {}, python 3.10, {}. Building takes hours."


def _steps(knowledge: Knowledge, text: str) -> list[str]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return [step.text for fix in report.findings[0].fixes for step in fix.steps]


@pytest.mark.parametrize(
    ("torch", "system", "first"),
    [
        ("2.8.0+cu128", "Ubuntu 22.04", "flash-attn==2.8.3.post1"),
        ("2.8.0+cu128", "Ubuntu 20.04", "manylinux_2_28_x86_64.whl"),
        ("2.6.0+cu124", "Debian 11", "flash-attn==2.7.4.post1"),
        ("2.5.1+cu121", "CentOS 7", "manylinux_2_17_x86_64"),
    ],
)
def test_the_first_file_loads_on_the_system(
    knowledge: Knowledge, torch: str, system: str, first: str
) -> None:
    assert first in _steps(knowledge, QUESTION.format(torch, system))[0]


def test_no_file_for_newer_systems_is_left(knowledge: Knowledge) -> None:
    steps = _steps(knowledge, QUESTION.format("2.8.0+cu128", "Ubuntu 20.04"))
    assert not any("Dao-AILab" in step and ".whl" in step for step in steps)
