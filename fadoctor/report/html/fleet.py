"""The page of a fleet: a grid of nodes coloured by what they say, and what differs behind each.

A node is a small box with a letter and a colour; boxes of a group are links to what it says, so the
keyboard and a printed page have all of it. The grid is drawn from one list of names a group.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from fadoctor.fleet.hostlist import HostlistError, expand
from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.report.fleet_text import answer_of, difference_text, rule_and_page
from fadoctor.report.headline import headline
from fadoctor.report.html.document import document
from fadoctor.report.html.elements import TEXT_LIMIT, Html, folded, joined, listed, tag
from fadoctor.report.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.fleet.model import FleetFinding, FleetReport, NodeGroup

_BOXES = 20_000
"""Most boxes that are drawn; of more nodes, the groups stand as lists only."""
_GROUPS = 500
_LOOKS = {
    Severity.ERROR: ("fails", "✗ error"),
    Severity.WARNING: ("unknown", "! warning"),
    Severity.NOTE: ("quiet", "i note"),
}


def render(report: FleetReport) -> str:
    """Return the page as one file with one line end at its end."""
    return document("fadoctor fleet", list(_body(report)))


def _body(report: FleetReport) -> Iterator[Html]:
    total = report.answered + report.silent_count
    fine = bool(total) and report.healthy == total and not report.unreadable_count
    yield tag("h1", "Which nodes differ?")
    sign, look = ("✓", "works") if fine else ("✗", "fails")
    sentence = tag("strong", f"{sign} "), answer_of(report)
    yield tag("p", *sentence, class_=f"answer {look}", role="status")
    yield tag("p", f"{report.answered} answered, {report.silent_count} silent, "
              f"{report.unreadable_count} unreadable.")  # fmt: skip
    yield from (tag("p", note) for note in report.notes)
    if report.findings:
        yield tag("h2", "What is wrong")
        yield from map(_finding, report.findings)
    yield tag("h2", "Nodes")
    yield _grid(report)
    yield tag("h2", "What they say")
    for number, group in enumerate(report.groups[:_GROUPS]):
        yield _group(number, group)
    if len(report.groups) > _GROUPS:
        yield tag("p", f"and {len(report.groups) - _GROUPS} more groups")
    yield from _silence(report)
    if report.values:
        yield tag("h2", f"By {report.grouped_by}")
        yield listed(f"{each.value}: {each.count}: {each.nodes}" for each in report.values)
    yield tag("p", f"fadoctor {report.fadoctor}", class_="quiet")


def _finding(finding: FleetFinding) -> Html:
    look, word = _LOOKS[finding.severity]
    return tag(
        "article",
        tag("h3", tag("span", word, class_=look), headline(finding, (str(finding.count),))),
        tag("p", _hosts(finding.nodes)),
        tag("p", finding.message) if finding.message else Html(),
        tag("p", "Fix: ", tag("code", finding.fix)) if finding.fix else Html(),
        tag("p", f"rule {rule_and_page(finding.rule_id)}", class_="quiet"),
    )


def _hosts(nodes: str) -> Html:
    """Return a list of hosts that may be broken behind a comma, and not within a number."""
    cut = printable(nodes, TEXT_LIMIT)
    return Html("<wbr>".join(html.escape(part) for part in re.findall(r"[^,]*,|[^,]+$", cut)))


def _grid(report: FleetReport) -> Html:
    """Return a box for each node, by groups; the letter tells them apart without colour."""
    if report.answered + report.silent_count > _BOXES:
        return tag("p", "There are too many nodes for a picture: the lists below have them.")
    rows = [
        _row(_letter(number), _look(group), group.nodes, f"#group-{number}", _said(group))
        for number, group in enumerate(report.groups[:_GROUPS])
    ]
    if report.silent:
        rows.append(_row("?", "silent", report.silent, "#silent", "silent"))
    return joined(rows)


def _row(letter: str, look: str, nodes: str, target: str, said: str) -> Html:
    boxes = joined(tag("span", letter, class_=f"node {look}", title=name) for name in _names(nodes))
    head = tag("a", f"{letter}: {said}", href=target)
    return tag("section", tag("p", head), tag("div", boxes, class_="nodes", role="img",
               aria_label=f"{said}: {nodes}"[:400]))  # fmt: skip


def _names(nodes: str) -> tuple[str, ...]:
    try:
        return expand(nodes)
    except HostlistError:
        return (nodes,)


def _letter(number: int) -> str:
    """Return ``A`` for the first group, ``AA`` after ``Z``."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _look(group: NodeGroup) -> str:
    if not group.healthy:
        return "fails"
    return "works" if group.is_reference else "unknown"


def _said(group: NodeGroup) -> str:
    count = counted(group.count, "node")
    if group.is_reference:
        return f"{count}, alike"
    first = group.problem or ", ".join(difference_text(each) for each in group.differs[:2])
    return f"{count}: {first or 'exit code ' + str(group.exit_code)}"


def _group(number: int, group: NodeGroup) -> Html:
    said = [f"{each.level.value}: {difference_text(each)}" for each in group.differs]
    said += [f"finding: {each}" for each in group.findings]
    said += [f"the check could not be done: {group.problem}"] if group.problem else []
    said += [f"no room in the record: {', '.join(group.dropped)}"] if group.dropped else []
    parts = [tag("p", _hosts(group.nodes)), listed(said) if said else tag("p", "Like most.")]
    title = f"{_letter(number)}: {_said(group)}"
    return tag("div", folded(title, *parts), id=f"group-{number}")


def _silence(report: FleetReport) -> Iterator[Html]:
    if report.silent_count:
        yield tag("h2", "Silent", id="silent")
        yield tag(
            "p",
            _hosts(report.silent) or f"{counted(report.silent_count, 'node')}, names unknown",
        )
    spoke = [f"{each.who}: {each.text}" for each in report.spoke]
    unreadable = [
        f"{each.where}{f' ({each.node})' if each.node else ''}: {each.problem}"
        for each in report.unreadable
    ]
    if spoke:
        yield tag("h2", "Printed something else")
        yield listed(spoke)
    if unreadable:
        yield tag("h2", "Unreadable")
        yield listed(unreadable)
    if report.contradicting:
        yield tag("h2", "Sent different records")
        yield tag("p", report.contradicting)
