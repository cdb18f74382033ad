"""The first line of a finding is made in one place, for all forms of reports."""

from __future__ import annotations

import re
from pathlib import Path

import fadoctor.report
from fadoctor.fleet.model import FleetFinding
from fadoctor.model.finding import Severity
from fadoctor.report.headline import headline, headline_of
from tests.unit.judging.engine.builders import assess, rule

_BY_HAND = re.compile(r"\{(?:\w+\.)?(?:finding|each|first|worst|alike\[0\])\.title\}")


def test_a_finding_names_its_subjects_and_an_environment_none() -> None:
    [finding] = assess({"host.os": "linux"}, rule(message="It is {host.os}.")).findings
    assert headline_of(finding) == "A title"
    assert headline_of(finding, ["environment"], severity=True) == "error: A title"
    assert headline_of(finding, ["gpu[0]", "gpu[1]"]) == "A title (gpu[0], gpu[1])"
    assert headline_of(finding, ["environment", "gpu[0]"]) == "A title (gpu[0])"
    assert headline_of(finding, ["gpu[0]", "gpu[1]"], at_most=1) == "A title (gpu[0])"
    assert headline(finding, ("line 3",), message=True) == "A title (line 3): It is linux."


def test_a_finding_about_files_names_the_packages_that_ask_too_much() -> None:
    facts = {"packages.contradicted": dict.fromkeys("abcd", "x")}
    one = rule(when={"packages.contradicted": {"present": True}})
    [finding] = assess(facts, one).findings
    assert headline_of(finding) == "A title (a, b, c, ...)"


def test_a_finding_of_a_fleet_names_its_nodes() -> None:
    finding = FleetFinding("some-rule", Severity.WARNING, "A title", "", "n[1-2]", 2)
    found = headline(finding, ("2 nodes: n[1-2]",), severity=True)
    assert found == "warning: A title (2 nodes: n[1-2])"
    assert headline(finding, ("environment",)) == "A title (environment)", "a node may be called so"


def test_no_report_puts_a_headline_together_by_hand() -> None:
    folder = Path(fadoctor.report.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    texts.pop("headline.py")
    assert [name for name, text in texts.items() if _BY_HAND.search(text)] == []
