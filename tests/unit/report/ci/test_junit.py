"""JUnit XML of findings: what fails there is what makes the exit code 1."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from fadoctor.model.finding import Severity, Undecided
from fadoctor.report.ci.junit import render
from tests.unit.report.ci.hostile import ALL, EMPTY, FULL

if TYPE_CHECKING:
    from fadoctor.report.ci.listing import Listing


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 -- it was made here


def suite(listing: Listing, *failing: Severity) -> ET.Element:
    (found,) = read(render(listing, failing)).iter("testsuite")
    return found


def test_findings_fail_as_the_exit_code_counts_them() -> None:
    found = suite(FULL, Severity.ERROR)
    assert [found.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        "5", "1", "1", "1",
    ]  # fmt: skip
    assert suite(FULL, Severity.ERROR, Severity.WARNING).get("failures") == "2"
    assert suite(FULL).get("failures") == "0"


def test_a_warning_that_does_not_fail_is_still_said() -> None:
    (case,) = [case for case in suite(FULL, Severity.ERROR) if case.get("name") == "triton-odd"]
    assert (case.findtext("system-out") or "").startswith("warning: It is too old. Fix: ")


def test_nothing_wrong_is_a_passed_case() -> None:
    (case,) = suite(EMPTY, Severity.ERROR)
    assert case.get("name") == "nothing is wrong"
    assert len(case) == 0


@pytest.mark.parametrize("name", ALL)
def test_any_text_is_well_formed(name: str) -> None:
    text = render(ALL[name], tuple(Severity))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert read(text).tag == "testsuites"


def test_what_stayed_open_is_one_case() -> None:
    """It was 170 skipped tests of 175."""
    many = tuple(
        Undecided(f"rule-{number}", (), "nobody read it" if number % 2 else "no driver", "gpu[0]")
        for number in range(170)
    )
    found = suite(structs.replace(FULL, undecided=many), Severity.ERROR)
    assert (found.get("tests"), found.get("skipped")) == ("5", "1")
    (skipped,) = found.iter("skipped")
    assert (skipped.get("message") or "").startswith("170 could not be decided: ")
    assert (skipped.text or "").count("\n") == 1
    assert "rule-169 (gpu[0])" in (skipped.text or "")
