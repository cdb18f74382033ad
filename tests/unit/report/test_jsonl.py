"""JSON lines hold the whole document."""

from __future__ import annotations

import json
from collections import Counter

from fadoctor.model.plan import Action, ActionKind, Plan, PlanOutcome
from fadoctor.report.jsonl import render
from tests.unit.report.test_markdown import report


def test_the_lines_are_the_document_taken_apart() -> None:
    document = report()
    first, *others = map(json.loads, render(document).splitlines())
    assert first["kind"] == "report"
    assert first["summary"]["error"] == document.summary.error
    count = Counter(line["kind"] for line in others)
    assert count["fact"] == len(document.environment)
    assert count["finding"] == len(document.findings)
    assert count["verdict"] == len(document.verdicts)
    assert {
        "kind": "fact",
        "name": "torch.version",
        "state": "known",
        "value": "2.8.0",
    }.items() <= (next(line for line in others if line.get("name") == "torch.version").items())


def test_what_a_terminal_obeys_or_nobody_sees_is_escaped() -> None:
    hidden = "\x7f\x9b31m\u202e\u2066\u200b\U000e0041"
    target = report().target
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (Action(ActionKind.INSTALL, f"é {hidden}"),))
    text = render(plan)
    assert [char for char in hidden if not char.isprintable() and char in text] == []
    assert "é" in text
    assert json.loads(text.splitlines()[1])["text"] == f"é {hidden}"


def test_the_kind_of_an_action_is_what_it_does() -> None:
    target = report().target
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (Action(ActionKind.INSTALL, "pip install x"),))
    first, action = map(json.loads, render(plan).splitlines())
    assert (first["kind"], first["outcome"]) == ("plan", "repairs")
    assert (action["kind"], action["does"]) == ("action", "install")
