"""GitLab's code quality report: a flat list of five fields.

Source: GitLab, Code Quality, "Code Quality report format".
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.report.ci.listing import summary_of
from fadoctor.report.json_ import visible
from fadoctor.report.rule_address import page_of

if TYPE_CHECKING:
    from fadoctor.model.place import Place
    from fadoctor.report.ci.listing import Listing, Located

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(listing: Listing) -> str:
    """Return the list as JSON, an entry for each place of each finding."""
    entries = [_entry(each, place) for each in listing.located for place in each.places]
    unique = {entry["fingerprint"]: entry for entry in entries}  # GitLab drops the same again
    return visible(json.dumps(list(unique.values()), indent=2, ensure_ascii=False)) + "\n"


def _entry(located: Located, place: Place) -> dict[str, Any]:
    finding = located.finding
    key = f"{finding.fingerprint} {place.file} {place.line}"
    return {
        "description": f"{summary_of(finding)} Page: {page_of(finding.rule_id)}",
        "check_name": finding.rule_id,
        "fingerprint": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(),
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": printable(place.file), "lines": {"begin": place.line}},
    }
