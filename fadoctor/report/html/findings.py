"""Findings and fixes of a page: what is wrong, what to do; evidence is folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.report.headline import headline_of
from fadoctor.report.html.elements import Html, command, folded, joined, listed, quoted, tag
from fadoctor.report.rule_address import page_of
from fadoctor.report.words import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix

_LOOKS = {
    Severity.ERROR: ("fails", "✗ error"),
    Severity.WARNING: ("unknown", "! warning"),
    Severity.NOTE: ("quiet", "i note"),
}
_QUOTED, _MORE = 5, 1
"""Lines of a log that are quoted, and fixes that are shown unfolded."""


def article(finding: Finding) -> Html:
    """Return a finding as an article of its own."""
    look, word = _LOOKS[finding.severity]
    places = [f"at {place}" for place in finding.locations]
    log = [str(each.value) for each in finding.evidence if each.fact == "log"][:_QUOTED]
    return tag(
        "article",
        tag("h3", tag("span", word, class_=look), headline_of(finding)),
        tag("p", finding.message),
        listed(places) if places else Html(),
        quoted(log) if log else Html(),
        *_fixes(finding.fixes),
        folded("Why, and what shows it", _why(finding)),
        id=f"finding-{finding.fingerprint}",
    )


def _fixes(fixes: Sequence[Fix]) -> Iterator[Html]:
    for fix in fixes[:_MORE]:
        yield from _fix(fix)
    others = [part for fix in fixes[_MORE:] for part in _fix(fix)]
    if others:
        yield folded("What else would help", joined(others))


def _fix(fix: Fix) -> Iterator[Html]:
    yield tag("p", tag("strong", fix.title))
    for step in fix.steps:
        typed = step.items or step.kind is StepKind.SYSTEM
        yield command(step.text) if typed else tag("p", step.text)
    if fix.side_effects:
        yield tag("p", f"But: {fix.side_effects}", class_="quiet")


def _why(finding: Finding) -> Html:
    rows = [
        f"{each.fact}: {'absent' if each.value is None else value_text(each.value)} ({each.source})"
        for each in finding.evidence
    ]
    links = [each.url for each in finding.references]
    return joined(
        [
            tag("p", finding.why),
            listed(rows),
            tag(
                "p",
                f"rule {finding.rule_id}, confidence {finding.confidence.value}, page: ",
                tag("code", page_of(finding.rule_id), data_rule=finding.rule_id),
            ),
            listed(map(_link, links)),
        ]
    )


def _link(url: str) -> Html:
    is_web = url.startswith("https://")
    return tag("a", url, href=url, rel="noreferrer") if is_web else tag("span", url)
