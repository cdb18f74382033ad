"""Advice for Windows where a text shows Linux."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.own_system import for_linux
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import facts_of

MATRIX = Matrix(load_knowledge().tables)
WINDOWS, LINUX = "On Windows: install triton-windows.", "On Linux: sudo apt install gcc."


def _advised(*texts: str, command: str = "") -> Fix:
    steps = tuple(Step(StepKind.ADVICE, text) for text in texts)
    return Fix("a", "A title", steps=(*steps, Step(StepKind.SYSTEM, command)) if command else steps)


@pytest.mark.parametrize(
    ("line", "fix", "left"),
    [
        ("Ubuntu 22.04, torch 2.6", _advised(LINUX, WINDOWS), [LINUX]),
        ('File "/home/a/x.py", line 3', _advised(WINDOWS, LINUX), [LINUX]),
        ("torch 2.6 fails", _advised(LINUX, WINDOWS), [LINUX, WINDOWS]),
        ("WSL with Ubuntu 22.04", _advised(LINUX, WINDOWS), [LINUX, WINDOWS]),
        ("Windows 11, torch 2.6", _advised(LINUX, WINDOWS), [LINUX, WINDOWS]),
        ("Ubuntu 22.04", _advised(WINDOWS), [WINDOWS]),
        ("Ubuntu 22.04", _advised(WINDOWS, command="a"), [WINDOWS, "a"]),
        (
            "Ubuntu",
            _advised("On Windows and Linux: b.", LINUX),
            ["On Windows and Linux: b.", LINUX],
        ),
    ],
)
def test_a_step_for_windows_is_left_out_on_linux(line: str, fix: Fix, left: list[str]) -> None:
    said = facts_of((Line(1, line, ""),), "a.txt", MATRIX).environment
    (found,) = for_linux([fix], said, [line])
    assert [step.text for step in found.steps] == left
