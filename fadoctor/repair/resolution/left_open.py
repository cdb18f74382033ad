"""What a release that the files leave open would do, where an installer takes its newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.diagnose import foresee
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.repair.plan.compiled import ASSUMED
from fadoctor.repair.plan.offers import offer
from fadoctor.repair.resolution.labelled import labelled, settled
from fadoctor.repair.resolution.resolver_worlds import name_of, newest_of_open, resolved_today

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge


def open_notes(environment: Environment, knowledge: Knowledge) -> Iterator[str]:
    """Yield what is wrong with the newest release of a package that something else may bound.

    `environment`: as the files describe it. A plan writes no line for that: whatever bounds the
    package may refuse the release that it would name.
    """
    if not environment.bounded:
        return
    resolver, taken = resolved_today(environment, Matrix(load_apart(knowledge.tables)))
    known = settled(labelled(resolver.world(taken)))
    told = {each.fingerprint for each in foresee(known, knowledge).assessment.findings}
    for package, version in newest_of_open(resolver):
        there = settled(labelled(resolver.world({**taken, package: version})))
        found = foresee(there, knowledge, predicts=False).assessment.findings
        for each in found:
            is_new = each.fingerprint not in told and each.severity is not Severity.NOTE
            if is_new and _is_about(each, package):
                yield f"an installer decides which {name_of(package)} comes. {_said(each, package)}"


def _is_about(finding: Finding, package: str) -> bool:
    """Return whether a finding rests on a package, and on nothing that is only assumed."""
    is_assumed = any(each.source == ASSUMED for each in finding.evidence)
    return not is_assumed and any(e.fact.startswith(f"{package}.") for e in finding.evidence)


def _said(finding: Finding, package: str) -> str:
    """Return what a finding says, and which releases of the package do not have it."""
    steps = (step for fix in finding.fixes for step in fix.steps if step.kind is StepKind.INSTALL)
    offers = filter(None, (offer(item) for step in steps for item in step.items))
    own = next((each.requirement for each in offers if each.package == package), "")
    return f"{finding.message} Ask for {own} to be sure" if own else finding.message
