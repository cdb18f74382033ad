"""JUnit XML of findings: each is a test case, and fails where it makes the exit code 1.

What could not be decided is one case, skipped, with its reasons.
Source: Jenkins xunit plugin, junit-10.xsd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from fadoctor.model.fact import printable
from fadoctor.report.ci.listing import TEXT_LIMIT, advice_of, by_reason, summary_of
from fadoctor.report.rule_address import page_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fadoctor.model.finding import Finding, Severity, Undecided
    from fadoctor.report.ci.listing import Listing

_TIME = "0"
"""Findings take no time of their own."""


def render(listing: Listing, failing: Collection[Severity]) -> str:
    """Return the suite as XML with one line end at its end."""
    root = ET.Element("testsuites", name=f"fadoctor {listing.command}")
    root.append(_suite(listing, failing))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(listing: Listing, failing: Collection[Severity]) -> ET.Element:
    cases = [
        *(_found(each.finding, each.finding.severity in failing) for each in listing.located),
        *_skipped(listing.undecided),
        *(_broken(error.rule_id, error.reason) for error in listing.rule_errors),
    ] or [_case("nothing is wrong", "environment")]
    count = {name: sum(case.find(name) is not None for case in cases) for name in _COUNTED}
    suite = ET.Element(
        "testsuite",
        name=printable(listing.target) or "fadoctor",
        tests=str(len(cases)),
        failures=str(count["failure"]),
        errors=str(count["error"]),
        skipped=str(count["skipped"]),
        time=_TIME,
    )
    suite.extend(cases)
    return suite


_COUNTED = ("failure", "error", "skipped")


def _found(finding: Finding, fails: bool) -> ET.Element:  # noqa: FBT001 -- private
    case = _case(finding.rule_id, finding.subject)
    page = f"Page: {page_of(finding.rule_id)}"
    said = [printable(finding.why, TEXT_LIMIT), *map(_line, advice_of(finding)), page]
    text = "\n".join(said)
    if fails:
        kind = finding.severity.value
        failure = ET.SubElement(case, "failure", type=kind, message=summary_of(finding))
        failure.text = text
    else:
        told = f"{finding.severity.value}: {summary_of(finding)}\n{text}"
        ET.SubElement(case, "system-out").text = told
    return case


def _skipped(undecided: Sequence[Undecided]) -> Iterator[ET.Element]:
    """Yield one case for all that stayed open: those are questions, and no tests of their own."""
    if not undecided:
        return
    case = _case("could not be decided", "environment")
    reasons = by_reason(undecided)
    count = sum(map(len, reasons.values()))
    lines = [f"{reason}: {', '.join(names)}" for reason, names in reasons.items()]
    first = f"{count} could not be decided: {next(iter(reasons))}"
    ET.SubElement(case, "skipped", message=_line(first)).text = "\n".join(map(_line, lines))
    yield case


def _broken(rule_id: str, reason: str) -> ET.Element:
    case = _case(rule_id, "rules")
    ET.SubElement(case, "error", type="rule", message=_line(reason))
    return case


def _case(name: str, subject: str) -> ET.Element:
    return ET.Element("testcase", classname=_line(subject), name=_line(name), time=_TIME)


def _line(text: str) -> str:
    return printable(text, TEXT_LIMIT)
