"""A log held against an environment: its facts are judged once, however much is asked of them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.assistants import answers
from fadoctor.interfaces.assistants.answers import AssistantRequest
from fadoctor.interfaces.commands import run
from fadoctor.interfaces.commands.explain import ExplainRequest, explain_log, read_text
from fadoctor.interfaces.commands.request import ProgramRequest
from fadoctor.judging.engine.judge import judge
from fadoctor.model.explanation import Agreement
from fadoctor.sources.examine.request import Request
from tests.unit.interfaces.commands.listener import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from fadoctor.model.environment import Environment

GOLDEN = Path(__file__).parents[3] / "golden"
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."


@pytest.fixture
def judged() -> Iterator[list[Environment]]:
    """Collect what is judged by all rules, each time it is."""
    found: list[Environment] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is judge.__code__:
            found.append(frame.f_locals["environment"])

    sys.setprofile(watch)
    yield found
    sys.setprofile(None)


def test_facts_are_judged_once_where_nothing_is_confirmed(judged: list[Environment]) -> None:
    assert explained_on("linux-a100-healthy", AMPERE) != [Agreement.CONFIRMED]
    assert len(judged) == 1


def test_facts_are_judged_once_where_a_plan_follows(judged: list[Environment]) -> None:
    assert explained_on("linux-v100-torch210", AMPERE) == [Agreement.CONFIRMED]
    as_they_are = judged[0].facts
    assert [each.facts == as_they_are for each in judged].count(True) == 1
    assert len(judged) > 1, "the end of the plan is judged, too"


def test_facts_are_judged_once_where_no_repair_is_looked_for(judged: list[Environment]) -> None:
    assert explained_on("linux-v100-torch210", AMPERE, repairs=False) == [Agreement.CONFIRMED]
    assert len(judged) == 1


def test_programs_and_assistants_get_the_same_report(tmp_path: Path) -> None:
    facts = GOLDEN / "linux-v100-torch210" / "facts.json"
    report = explain_log(request_for("linux-v100-torch210", AMPERE))
    program = run.explain(AMPERE, ProgramRequest(facts=str(facts)), ignore=(), rules=())
    assert [each.fixes for each in program.findings] == [each.fixes for each in report.findings]
    assert (program.checks, program.plan) == (report.checks, report.plan)
    sent = AssistantRequest(report=facts.read_text(encoding="utf-8"))
    told = answers.explain(AMPERE, sent, tmp_path).document
    assert [each["rule_id"] for each in told["findings"]] == ["gpu-too-old-fa2"]
    assert [each.rule_id for each in report.findings] == ["gpu-too-old-fa2"]
    assert told["checks"][0]["agreement"] == "confirmed"


def test_an_observer_hears_that_the_environment_is_read_where_it_is_asked() -> None:
    listener, request = Listener(), request_for("linux-v100-torch210", AMPERE)
    explain_log(request, listener)
    said = ["reading the log", "reading the environment", "looking for causes"]
    assert listener.told == [*said, "end of reading the log"]
    alone = Listener()
    explain_log(request._replace(is_held=lambda _: False), alone)
    assert alone.told == ["reading the log", "looking for causes", "end of reading the log"]


def explained_on(name: str, log: str, *, repairs: bool = True) -> list[Agreement]:
    report = explain_log(request_for(name, log)._replace(repairs=repairs))
    return [each.agreement for each in report.checks]


def request_for(name: str, log: str) -> ExplainRequest:
    return ExplainRequest(
        lambda knowledge: read_text(io.BytesIO(log.encode()), "the log", knowledge),
        Request(facts=str(GOLDEN / name / "facts.json")),
        lambda _: True,
    )
