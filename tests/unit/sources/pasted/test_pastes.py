"""Pasted reports of many tools: each fact that one states is read, and none is read wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fadoctor.model.fact import Known
from tests.plain_yaml import read_plain
from tests.unit.sources.pasted.reading import read_report

PASTES: dict[str, dict[str, Any]] = read_plain(Path(__file__).parent / "pastes.yaml")

FEWEST = 40
"""Tools, and forms of them, of which a whole report is read."""


@pytest.mark.parametrize("tool", PASTES)
def test_all_that_a_report_states_is_read(tool: str) -> None:
    stated = PASTES[tool]["facts"]
    facts = read_report(PASTES[tool]["text"].encode(), "paste").facts
    found = {name: facts.get(name) for name in stated}
    assert {n: f.value if isinstance(f, Known) else f for n, f in found.items()} == stated


def test_so_many_tools_are_read() -> None:
    assert len(PASTES) >= FEWEST
