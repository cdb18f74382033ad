"""SARIF 2.1.0, as code scanning reads it: a rule for each root cause, a result for each finding.

Source: OASIS, Static Analysis Results Interchange Format Version 2.1.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fadoctor.model.fact import printable
from fadoctor.report.ci.listing import TEXT_LIMIT, advice_of, by_reason, summary_of
from fadoctor.report.json_ import visible
from fadoctor.report.rule_address import page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.finding import Finding
    from fadoctor.model.place import Place
    from fadoctor.report.ci.listing import Listing, Located

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_HOME = "https://github.com/Dao-AILab/flash-attention"
"""What the rules are about: code scanning wants an address of the tool and of each rule."""

_LINK_SAFE = ":/?#[]@!$&'()*+,;=%~"
_RESULTS = 5_000
"""As many as code scanning keeps."""


def render(listing: Listing) -> str:
    """Return one run as JSON with one line end at its end."""
    located = listing.located[:_RESULTS]
    rules = list(dict.fromkeys(each.finding.rule_id for each in located))
    first = {each.finding.rule_id: each.finding for each in reversed(located)}
    driver = {
        "name": "fadoctor",
        "version": listing.version,
        "semanticVersion": listing.version,
        "informationUri": _HOME,
        "rules": [_rule(first[rule_id]) for rule_id in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"fadoctor/{listing.command}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(listing)],
        "results": [_result(each, rules.index(each.finding.rule_id)) for each in located],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return visible(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _rule(finding: Finding) -> dict[str, Any]:
    texts = [finding.why, *advice_of(finding)]
    help_text = "\n\n".join(printable(text, TEXT_LIMIT) for text in texts)
    links = (each.url for each in finding.references if each.url.startswith("https://"))
    return {
        "id": finding.rule_id,
        "name": f"fadoctor{''.join(map(str.capitalize, finding.rule_id.split('-')))}",
        "shortDescription": _text(_ended(finding.title)),
        "fullDescription": _text(finding.why),
        "help": {"text": f"{help_text[:TEXT_LIMIT]}\n\nPage: {page_of(finding.rule_id)}"},
        "helpUri": quote(next(links, _HOME), safe=_LINK_SAFE, errors="replace"),
        "defaultConfiguration": {"level": finding.severity.value},
        "properties": {"precision": finding.confidence.value, "tags": ["environment"]},
    }


def _result(located: Located, index: int) -> dict[str, Any]:
    finding = located.finding
    subject = {"name": printable(finding.subject), "kind": "module"}
    location = {**_location(located.places[0]), "logicalLocations": [subject]}
    result = {
        "ruleId": finding.rule_id,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": _text(summary_of(finding)),
        "locations": [location],
        "partialFingerprints": {"fadoctorFinding/v1": finding.fingerprint},
    }
    related = [_location(place) for place in located.places[1:]]
    return {**result, "relatedLocations": related} if related else result


def _location(place: Place) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": address_of(place.file)},
            "region": {"startLine": place.line, "startColumn": place.column},
        }
    }


def address_of(name: str) -> str:
    """Return a file's address: relative to the folder of the run, where it lies in it."""
    path = Path(name)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    address = quote(path.as_posix(), errors="replace")
    return f"file://{address}" if path.is_absolute() else address


def _invocation(listing: Listing) -> dict[str, Any]:
    """Return how the run went: what stayed open is a notification, and no result."""
    return {
        "executionSuccessful": not listing.rule_errors,
        "toolExecutionNotifications": list(_notifications(listing)),
    }


def _notifications(listing: Listing) -> Iterator[dict[str, Any]]:
    for error in listing.rule_errors:
        yield {"level": "error", "message": _text(f"rule {error.rule_id} broke: {error.reason}")}
    for note in listing.notes:
        yield {"level": "note", "message": _text(note)}
    for reason, names in by_reason(listing.undecided).items():
        text = f"{', '.join(names)} could not be decided: {reason}"
        yield {"level": "note", "message": _text(text)}


def _text(text: str) -> dict[str, str]:
    return {"text": printable(text, TEXT_LIMIT)}


def _ended(title: str) -> str:
    return title if title.endswith(".") else f"{title}."
