"""Annotations of GitHub Actions: workflow commands on standard output.

Source: GitHub, Workflow commands for GitHub Actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.report.ci.listing import TEXT_LIMIT, summary_of
from fadoctor.report.headline import headline
from fadoctor.report.rule_address import page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.report.ci.listing import Listing, Located

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}

_SHOWN = 10
"""Annotations of a kind that GitHub shows of one step."""


def render(listing: Listing) -> str:
    """Return a line for each finding, the worst first; of too many the last says how many.

    One whose cause is in no line of a file names none.
    """
    return "".join(f"{line}\n" for line in _lines(listing))


def _lines(listing: Listing) -> Iterator[str]:
    for severity, command in _COMMANDS.items():
        mine = [each for each in listing.located if each.finding.severity is severity]
        shown = mine if len(mine) <= _SHOWN else mine[: _SHOWN - 1]
        for each in shown:
            yield _line(command, each)
        if len(mine) > len(shown):
            yield f"::{command} title=fadoctor::{len(mine) - len(shown)} more {severity.value}s"
    for error in listing.rule_errors:
        yield f"::error title=fadoctor::{_data(f'rule {error.rule_id} broke: {error.reason}')}"


def _line(command: str, located: Located) -> str:
    place, finding = located.places[0], located.finding
    where = {"file": place.file, "line": str(place.line), "col": str(place.column)}
    title = {"title": f"fadoctor {finding.rule_id}: {headline(finding)}"}
    properties = {**where, **title} if located.is_exact else title
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = f"{summary_of(finding)} Page: {page_of(finding.rule_id)}"
    return f"::{command} {said}::{_data(text)}"


def _data(text: str) -> str:
    """Return text as a command's message: the runner ends it at a line end."""
    return printable(text, TEXT_LIMIT).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
