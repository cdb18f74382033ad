"""What fadoctor says about recorded machines, against what a careful expert says.

The real parsers read the recordings. A machine that is known to come out wrong says so in its
``expected.json`` under ``faults``, and its test is a strict xfail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from tests.hosts import recording
from tests.states.promises import misplaced_by_hand
from tests.unit.repair.plan.problems import plan

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.report import Report
    from tests.hosts.conftest import Diagnosed


def hosts(aspect: str) -> list[ParameterSet]:
    """Return every recording, those with a fault in this aspect marked."""
    found = []
    for name in recording.names():
        fault = recording.expected(name).faults.get(aspect)
        marks = [pytest.mark.xfail(reason=fault, strict=True)] if fault else []
        found.append(pytest.param(name, marks=marks, id=name))
    return found


@pytest.mark.parametrize("name", hosts("facts"))
def test_facts(name: str, diagnosed: Diagnosed) -> None:
    wanted = recording.expected(name).facts
    facts = diagnosed(name).environment
    assert {fact: _said(facts[fact], wanted[fact]) for fact in wanted} == wanted


@pytest.mark.parametrize("name", recording.names())
def test_no_probe_and_no_rule_breaks(name: str, diagnosed: Diagnosed) -> None:
    report = diagnosed(name)
    reasons = [fact.reason for fact in report.environment.values() if isinstance(fact, Unknown)]
    assert [reason for reason in reasons if reason.startswith("the probe ")] == []
    assert report.rule_errors == ()


@pytest.mark.parametrize("name", recording.names())
def test_what_is_installed_by_hand_fits_the_torch(name: str, tmp_path: Path) -> None:
    environment = recording.read(name, tmp_path)
    assert misplaced_by_hand(plan(environment), environment) == ""


@pytest.mark.parametrize("name", hosts("findings"))
def test_findings(name: str, diagnosed: Diagnosed) -> None:
    report = diagnosed(name)
    assert [_line(finding) for finding in report.findings] == recording.expected(name).findings


@pytest.mark.parametrize("name", hosts("fixes"))
def test_best_fix(name: str, diagnosed: Diagnosed) -> None:
    wanted = recording.expected(name).fixes
    found = {each.rule_id: each.fixes[0].id for each in diagnosed(name).findings if each.fixes}
    assert {rule: found.get(rule) for rule in wanted} == wanted


@pytest.mark.parametrize("name", hosts("unknown"))
def test_undecided(name: str, diagnosed: Diagnosed) -> None:
    wanted = recording.expected(name).unknown
    if wanted is not None:
        assert sorted({each.rule_id for each in diagnosed(name).unknown}) == wanted


@pytest.mark.parametrize("name", hosts("verdicts"))
def test_verdicts(name: str, diagnosed: Diagnosed) -> None:
    wanted = recording.expected(name).verdicts
    found = _verdicts(diagnosed(name))
    assert {cell: found.get(cell) for cell in wanted} == wanted


@pytest.mark.parametrize("name", hosts("recommendation"))
def test_recommendation(name: str, diagnosed: Diagnosed) -> None:
    advice = diagnosed(name).recommendation
    found = advice and f"{advice.dtype.value} {advice.backend.value}"
    assert found == recording.expected(name).recommendation


@pytest.mark.parametrize("name", hosts("settings"))
def test_settings(name: str, diagnosed: Diagnosed) -> None:
    wanted = recording.expected(name).settings
    advice = diagnosed(name).recommendation
    found = advice.settings if advice else {}
    assert {framework: found.get(framework) for framework in wanted} == wanted


def _said(fact: Fact, wanted: object) -> object:
    """Return a fact in the form of ``expected.json``."""
    match fact:
        case Known(value=value):
            return list(value) if isinstance(value, tuple) else value
        case Absent():
            return {"absent": True}
        case Unknown(reason=reason):
            part = wanted.get("unknown", "") if isinstance(wanted, dict) else ""
            return {"unknown": part if part and part in reason else reason}


def _line(finding: Finding) -> str:
    line = f"{finding.severity.value} {finding.rule_id} {finding.subject}"
    return line + (f" > {', '.join(finding.consequences)}" if finding.consequences else "")


def _verdicts(report: Report) -> dict[str, str]:
    """Return ``gpu[0] fa2 bf16`` -> the prediction."""
    return {
        f"{each.gpu.partition(' ')[0]} {each.backend.value} {each.dtype.value}": (
            each.predicted.value
        )
        for each in report.verdicts
    }


def test_windows_and_amd_have_their_machines() -> None:
    """Counted by what was recorded: the system of the target, and the words of AMD's tools."""
    folders = [recording.HOSTS / name for name in recording.names()]
    on_windows = [f for f in folders if '"os": "windows"' in (f / "target.json").read_text()]
    amd = [
        folder
        for folder in folders
        if any("gfx" in (folder / file).read_text() for file in ("tree.txt", "commands.json"))
    ]
    assert len(on_windows) >= 20
    assert len(amd) >= 15
