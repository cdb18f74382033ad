"""The table of versions: a line for each interpreter, and what is wrong there."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tools import trace_versions

pytestmark = pytest.mark.torch

SEEN: dict[str, Any] = {
    "python": "3.12.1", "torch": "2.15.0", "scenes": 9, "lacks": {"flex": "no module"},
    "wrong": {"rotary": ["nobody was named"]}, "steps": 4, "changed": [3], "faults": ["lineage"],
}  # fmt: skip


def test_a_line_and_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_versions, "scenes", lambda *_: SEEN)
    ways = ({"plain": [], "spawn": ["exit code 1, not 0"]}, ["fully-shard"])
    monkeypatch.setattr(trace_versions, "ways", lambda *_: ways)
    line, problems = trace_versions.row("python")
    assert line == "| 2.15.0 | 3.12.1 | 7 of 8 | 3 of 4 | 1 of 2 | flex, fully-shard |"
    assert problems == [
        "rotary: ['nobody was named']", "spawn: ['exit code 1, not 0']", "seed 3: other bits",
        "lineage",
    ]  # fmt: skip


@pytest.mark.weekly
def test_this_interpreter_tells_what_is_known(tmp_path: Any) -> None:
    import sys  # noqa: PLC0415

    seen = trace_versions.scenes(sys.executable, tmp_path)
    assert (seen["wrong"], seen["lacks"], seen["changed"], seen["faults"]) == ({}, {}, [], [])
