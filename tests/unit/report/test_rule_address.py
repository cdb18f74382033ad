"""Each finding names its page in each format, and what is no rule names none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.api import check
from fadoctor.fleet.root_causes import CANNOT_CHECK
from fadoctor.report import markdown, text
from fadoctor.report.ci import github, gitlab, junit, sarif
from fadoctor.report.ci.listing import listing_of
from fadoctor.report.fleet_text import rule_and_page
from fadoctor.report.html import page
from fadoctor.report.rule_address import page_of
from fadoctor.report.style import Style
from tests.shipped import compiled

if TYPE_CHECKING:
    from fadoctor.report.results import CheckResult

FACTS = "tests/golden/broken-everything/facts.json"


@pytest.fixture(scope="module")
def report() -> CheckResult:
    return check(facts=FACTS)


def rendered(report: CheckResult, form: str) -> str:
    listing = listing_of(report, Path.cwd())
    made = {
        "github": lambda: github.render(listing),
        "gitlab": lambda: gitlab.render(listing),
        "html": lambda: page.render(report),
        "junit": lambda: junit.render(listing, ()),
        "markdown": lambda: markdown.render(report),
        "sarif": lambda: sarif.render(listing),
        "text": lambda: text.render(report, Style(width=200)),
    }
    return made[form]()


@pytest.mark.parametrize("form", ["github", "gitlab", "html", "junit", "markdown", "sarif", "text"])
def test_each_finding_names_its_page(report: CheckResult, form: str) -> None:
    said = rendered(report, form)
    assert report.findings
    for finding in report.findings:
        assert page_of(finding.rule_id) in said, finding.rule_id


def test_what_is_no_rule_names_no_page() -> None:
    assert rule_and_page(CANNOT_CHECK) == CANNOT_CHECK
    assert CANNOT_CHECK not in {rule.id for rule in compiled().knowledge.rules}
    assert rule_and_page("x").endswith(page_of("x"))
