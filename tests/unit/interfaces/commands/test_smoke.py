"""One orchestration of `smoke`: what is told, in which order, and what programs get of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands import smoke
from fadoctor.interfaces.commands.run import SmokeRequest
from fadoctor.interfaces.commands.run import smoke as run_smoke
from fadoctor.proof.smoke.choice import CellsRequest
from fadoctor.sources.examine.request import Request
from tests.unit.interfaces.commands.listener import Listener

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT = "reading the environment"
RUNNING = "running forward and backward"


@pytest.fixture
def without_torch(tmp_path: Path) -> str:
    """Return an interpreter of an environment that holds nothing."""
    (tmp_path / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.symlink_to(sys.executable)
    return str(python)


def test_an_observer_hears_the_stages_in_order(without_torch: str) -> None:
    listener = Listener()
    prognosis = smoke.foresee_cells(Request(python=without_torch), (), listener)
    assert listener.told == [ENVIRONMENT, f"end of {ENVIRONMENT}"]
    found = smoke.smoke(prognosis, CellsRequest(), listener)
    assert listener.told[2:4] == [RUNNING, f"end of {RUNNING}"]
    assert listener.told[4:] == [found.run.problem or "ran"]


def test_programs_get_the_same_report(without_torch: str) -> None:
    prognosis = smoke.foresee_cells(Request(python=without_torch))
    found = smoke.smoke(prognosis, CellsRequest()).report
    result = run_smoke(without_torch, SmokeRequest(), rules=())
    assert (result.summary, result.notes) == (found.summary, found.notes)
    assert not result.gpu_tested
