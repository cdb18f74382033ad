"""A fix for another system is none: what is told of it, not what is advised beside it, counts."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.foreign import is_foreign
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Step, StepKind
from tests.unit.judging.engine.builders import environment


@pytest.mark.parametrize(
    ("system", "kind", "text", "expected"),
    [
        ("windows", StepKind.SYSTEM, "sudo apt install g++", True),
        ("windows", StepKind.ADVICE, "On Linux: apt install g++", False),
        ("windows", StepKind.SYSTEM, "adapt it", False),
        ("linux", StepKind.SYSTEM, "sudo apt install g++", False),
        ("linux", StepKind.SYSTEM, "call vcvars64.bat", True),
        ("macos", StepKind.SET, "export CUDA_HOME=/usr", True),
        ("freebsd", StepKind.SYSTEM, "sudo apt install g++", False),
    ],
)
def test_words_of_another_system(system: str, kind: StepKind, text: str, *, expected: bool) -> None:
    fix = Fix("one", "Do it", steps=(Step(kind, text),))
    world = environment({"host.os": system})
    assert is_foreign(fix, world, Matrix(load_knowledge().tables)) is expected


def test_where_no_system_is_known_nothing_is_foreign() -> None:
    fix = Fix("one", "Install JetPack", steps=(Step(StepKind.ADVICE, "x"),))
    assert not is_foreign(fix, environment({}), Matrix(load_knowledge().tables))
