"""How far back in time a wish may take a torch that nobody asked to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.packages import TORCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.finding import Finding
    from fadoctor.repair.plan.problem import Problem

_MOST = 4
"""Minor releases of torch, of which there are about four in a year."""


def oldest_torch(problem: Problem, findings: Iterable[Finding]) -> str:
    """Return the oldest minor release of torch that a wish may bring; "" for any.

    Where nothing is wrong with it, it does not go back by years for a package that is not there.
    Who asks for a version, of torch or of another package, means what goes with it.
    """
    wishes = problem.wishes
    if not wishes.asked or TORCH in wishes.asked or wishes.pinned:
        return ""
    if any(finding.severity is Severity.ERROR for finding in findings):
        return ""
    here = version_part(fact_text(problem.environment.fact("torch.version"), ""), "minor")
    rows = problem.session.matrix.tables["torch-releases"].rows
    found = {
        version_part(version, "minor") for row in rows for version in cell_words(row["version"])
    }
    known = sorted(filter(None, found), key=version_key)
    if not here or here not in known:
        return ""
    return known[max(known.index(here) - _MOST, 0)]
