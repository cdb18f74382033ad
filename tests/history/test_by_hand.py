"""Cells that a person wrote down from published knowledge, against what fadoctor says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.history.hand import HandCell, hand_cells, verdict

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

    from fadoctor.model.rule import Knowledge

CELLS = hand_cells()
_REFERENCE = re.compile(r"https://[\w.-]+/\S+|pkg:pypi/[\w.-]+@[\w.+]+")


def marked(cell: HandCell) -> ParameterSet:
    fault = pytest.mark.xfail(reason=cell.fault, strict=True, raises=AssertionError)
    return pytest.param(cell, marks=[fault] if cell.fault else [], id=cell.name())


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("cell", [marked(cell) for cell in CELLS])
def test_cell(cell: HandCell, knowledge: Knowledge) -> None:
    found = verdict(cell, knowledge)
    said = ("none", "") if found is None else (found.predicted.value, ", ".join(found.because))
    assert said[0] == cell.expected, f"{said}, but {cell.fact}"
    assert cell.because in said[1], f"{said}, but {cell.fact}"


def test_there_are_enough_cells_and_each_stands_once() -> None:
    names = [cell.name() for cell in CELLS]
    assert len(names) >= 60
    assert sorted(set(names)) == sorted(names)


def test_each_cell_cites_its_fact_and_each_failure_its_rule() -> None:
    for cell in CELLS:
        assert len(cell.fact.split()) >= 3, cell.name()
        assert _REFERENCE.fullmatch(cell.source), cell.source
        assert bool(cell.because) == (cell.expected == "fails"), cell.name()
