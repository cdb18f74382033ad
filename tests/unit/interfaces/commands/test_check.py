"""One orchestration of `check`: what is told, in which order, and that all who ask get the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.assistants import answers
from fadoctor.interfaces.commands import check, run
from fadoctor.interfaces.commands.request import ProgramRequest, known_ids
from fadoctor.model.errors import UsageError
from fadoctor.model.typed import encode
from fadoctor.sources.examine.request import Request
from tests.unit.interfaces.commands.listener import Listener

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

FACTS = str(Path(__file__).parents[3] / "golden" / "linux-v100-torch210" / "facts.json")


def test_an_observer_hears_each_stage_in_order() -> None:
    listener = Listener()
    report, ran = check.check(check.CheckRequest(Request(facts=FACTS), smoke=True), listener)
    assert listener.told == [
        "reading the environment",
        "judging",
        "end of reading the environment",
        f"{len(report.findings)} findings",
        "looking for a repair",
        "end of looking for a repair",
    ]
    assert ran is None, "saved facts cannot be run"


def test_ids_that_no_rule_has_are_refused_before_anything_is_judged() -> None:
    listener = Listener()

    def ignored(knowledge: Knowledge) -> tuple[str, ...]:
        return known_ids("no-such-rule", knowledge)

    with pytest.raises(UsageError):
        check.check(check.CheckRequest(Request(facts=FACTS), ignored=ignored), listener)
    assert listener.told == ["reading the environment"]


def test_programs_and_assistants_get_the_same_report(tmp_path: Path) -> None:
    report, _ = check.check(check.CheckRequest(Request(facts=FACTS)))
    result = run.check(
        ProgramRequest(facts=FACTS), smoke=False, thorough=False, cache=True, ignore=(), rules=()
    )
    assert json.loads(encode(report)) == json.loads(encode(result))
    text = Path(FACTS).read_text(encoding="utf-8")
    told = answers.check(answers.AssistantRequest(report=text), tmp_path).document
    assert [each["message"] for each in told["findings"]] == [
        each.message for each in report.findings
    ]


def test_an_ignored_rule_is_hidden() -> None:
    shown, _ = check.check(check.CheckRequest(Request(facts=FACTS)))
    request = check.CheckRequest(Request(facts=FACTS), ignored=lambda _: ("gpu-too-old-fa2",))
    hidden, _ = check.check(request)
    assert [each.rule_id for each in shown.findings] == ["gpu-too-old-fa2"]
    assert (hidden.findings, hidden.verdicts) == ((), shown.verdicts)
