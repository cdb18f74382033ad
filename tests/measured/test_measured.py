"""What was measured on real GPUs: no prediction for their facts may say otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown

RECORDS = sorted(Path(__file__).parent.glob("*.json"))
CONTRARY = {("works", "failed"), ("works", "refused"), ("fails", "passed")}
USUAL = ("full", "causal", "long", "rotary", "layer-norm", "cross-entropy", "matmul")
"""Cases whose refusal a prediction excludes; the others are near a limit of some backend."""

DERIVED = (".optional", ".runs_on", ".no_code_for", ".jit_for", ".jit_isa")
"""Ends of facts that are judged anew."""


def facts_of(record: Any) -> Environment:
    source = f"{record['gpu']}, {record['day']}"
    found: dict[str, Fact] = {}
    for name, value in record["facts"]["known"].items():
        found[name] = Known(tuple(value) if isinstance(value, list) else value, source)
    found |= {name: Absent(source) for name in record["facts"]["absent"]}
    found |= {name: Unknown("not read", source) for name in record["facts"]["unknown"]}
    kept = {name: fact for name, fact in found.items() if not name.endswith(DERIVED)}
    return Environment("0", Target("facts", "recorded", source), kept)


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.stem)
def test_no_prediction_contradicts_what_was_measured(file: Path) -> None:
    record = json.loads(file.read_text(encoding="utf-8"))
    report = diagnose(facts_of(record), load_knowledge())
    predicted = {
        (row.backend.value, row.dtype.value): row.predicted.value for row in report.verdicts
    }
    assert predicted
    wrong = [
        cell
        for cell in record["cells"]
        if (predicted.get((cell[0], cell[1])), cell[3]) in CONTRARY
        and (cell[3] != "refused" or cell[2] in USUAL)
    ]
    assert wrong == []
    decided = [cell for cell in record["cells"] if predicted.get((cell[0], cell[1])) != "unknown"]
    assert len(decided) >= len(record["cells"]) // 2
