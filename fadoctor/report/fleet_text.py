"""The page of a fleet for a person: how many are fine, what is wrong where, who differs in what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.fleet.compare import differs
from fadoctor.fleet.root_causes import CANNOT_CHECK, shortened
from fadoctor.model.finding import Severity
from fadoctor.report.headline import headline
from fadoctor.report.paper import Paper
from fadoctor.report.rule_address import page_of
from fadoctor.report.words import counted

if TYPE_CHECKING:
    from fadoctor.fleet.model import Difference, FleetFinding, FleetReport, NodeGroup
    from fadoctor.report.style import Style

_GROUPS, _DIFFERENCES, _UNREADABLE, _SPOKE, _FINDINGS = 12, 5, 6, 6, 10
_IN_A_LINE = 3
"""Findings that --quiet names."""

_MARK = {True: ("✓", "+"), False: ("✗", "x")}
_MARKS = {
    Severity.ERROR: (("✗", "x"), "bold red"),
    Severity.WARNING: (("!", "!"), "yellow"),
    Severity.NOTE: (("i", "i"), "cyan"),
}


def render(report: FleetReport, style: Style) -> str:
    """Return the page as text; the words alone carry the meaning."""
    page = _Page(style)
    if style.quiet:
        page.whole(f"{page.mark(_MARK[is_fine(report)])} {_one_line(report)}")
        return page.text()
    page.answer(report)
    page.findings(report)
    page.silence(report)
    page.groups(report)
    page.values(report)
    for note in report.notes:
        page.line(note, "bold")
    return page.text()


def answer_of(report: FleetReport) -> str:
    """Return the one sentence that one came for."""
    total = report.answered + report.silent_count
    if not report.answered:
        return (
            "No node answered." if not report.silent_count else f"None of {total} nodes answered."
        )
    if report.baseline and total == 1:
        return _of_two(report)
    if report.healthy == total and not report.unreadable_count:
        fine = "and are alike" if report.alike == total else "though not all are alike"
        return f"All {total} nodes are healthy {fine}." if total > 1 else "The node is healthy."
    if total == 1:
        some = "The node that could be read is healthy."
        return some if report.healthy else "The node is not healthy."
    return f"{report.healthy} of {total} nodes are healthy."


def is_fine(report: FleetReport) -> bool:
    """Return whether all nodes answered, are healthy and, with a baseline, like it."""
    total = report.answered + report.silent_count
    fine = report.healthy == total and not report.unreadable_count and bool(total)
    return fine and not (report.baseline and report.alike < total)


def _counts(report: FleetReport) -> str:
    """Return how many nodes answered: ``30 answered of 32, 2 silent.``."""
    counts = [
        f"{report.answered} answered" + (f" of {report.expected}" if report.expected else ""),
        f"{report.silent_count} silent" if report.silent_count else "",
        f"{report.unreadable_count} unreadable" if report.unreadable_count else "",
    ]
    return ", ".join(filter(None, counts)) + "."


def _one_line(report: FleetReport) -> str:
    """Return how the fleet is, who is silent, and what is wrong where, for ``--quiet``."""
    found = [headline(each, (shortened(each.nodes),)) for each in report.findings[:_IN_A_LINE]]
    more = len(report.findings) - len(found)
    found += [f"{counted(more, 'finding')} more"] if more else []
    silent = [f"silent: {shortened(report.silent)}"] if report.silent else []
    tail = "; ".join((*silent, *found))
    return (
        f"{answer_of(report)} {_counts(report)}{f' {tail[:1].upper()}{tail[1:]}.' if tail else ''}"
    )


def _of_two(report: FleetReport) -> str:
    """Return how one report stands to another one."""
    (group,) = report.groups
    count = len(group.differs)
    if not count:
        same = "" if group.is_reference else ", but the outcome differs"
        return f"{group.nodes} does not differ from {report.baseline}{same}."
    return f"{group.nodes} differs from {report.baseline} in {counted(count, 'thing')}."


def difference_text(each: Difference) -> str:
    """Return ``driver 550.54 instead of 580.95``."""
    if each.here == each.reference:
        return f"{each.label} differs (the records had no room for it)"
    return differs(each.label, each.here, each.reference)


def rule_and_page(rule_id: str) -> str:
    """Return a rule and its page; a node that could not be checked breaks no rule, and has none."""
    return rule_id if rule_id == CANNOT_CHECK else f"{rule_id}, page: {page_of(rule_id)}"


class _Page(Paper):
    """The report of ``fleet``."""

    def answer(self, report: FleetReport) -> None:
        """Say first how the fleet is."""
        fine = is_fine(report)
        mark = self.mark(_MARK[fine])
        self.line(f"{mark} {answer_of(report)}", "bold green" if fine else "bold red", hang=2)
        self.line(_counts(report), indent=2)
        self.line("")

    def findings(self, report: FleetReport) -> None:
        """Say each root cause once."""
        shown = report.findings if self.style.verbose else report.findings[:_FINDINGS]
        for finding in shown:
            self.fleet_finding(finding)
        more = len(report.findings) - len(shown)
        if more:
            self.line(f"and {counted(more, 'finding')} more (--verbose)", indent=2)
        if report.findings:
            self.line("")

    def fleet_finding(self, finding: FleetFinding) -> None:
        (mark, plain), colour = _MARKS[finding.severity]
        nodes = f"{counted(finding.count, 'node')}: {shortened(finding.nodes)}"
        title = headline(finding, (nodes,), severity=True)
        self.line(f"{self.mark((mark, plain))} {title}", colour, hang=2)
        if finding.message:
            self.line(finding.message, indent=2)
        if finding.fix:
            self.first_step(finding.fix)
        self.line(f"rule: {rule_and_page(finding.rule_id)}", "dim", indent=2)

    def first_step(self, text: str) -> None:
        """Say what to do first; what is typed stays one line, to be copied."""
        if text.endswith("."):
            self.line(f"fix: {text}", "bold", indent=2, hang=2)
        else:
            self.whole(f"  fix: {text}", "bold")

    def silence(self, report: FleetReport) -> None:
        """Name who is silent, and what came that cannot be read."""
        if report.silent_count:
            unknown = "their names are not known"
            nodes = shortened(report.silent) or unknown
            self.line(f"Silent: {counted(report.silent_count, 'node')}: {nodes}", "bold red")
        for each in report.spoke[:_SPOKE]:
            self.line(f"{each.who} printed no record, but: {each.text}", "yellow", 2, 2)
        for unread in report.unreadable[:_UNREADABLE]:
            node = f" (perhaps of {unread.node})" if unread.node else ""
            self.line(f"Unreadable: {unread.where}{node}: {unread.problem}", "bold red", hang=2)
        more = report.unreadable_count - min(len(report.unreadable), _UNREADABLE)
        if more > 0:
            self.line(f"and {more} more that cannot be read", indent=2)
        if report.contradicting:
            text = f"Sent different records: {shortened(report.contradicting)}"
            self.line(text, "bold yellow", hang=2)
        if report.silent_count or report.unreadable_count or report.contradicting or report.spoke:
            self.line("")

    def groups(self, report: FleetReport) -> None:
        """Print equal nodes as one line, then the others with what differs."""
        like = f"like {report.baseline}" if report.baseline else "alike"
        if report.alike:
            nodes = ",".join(each.nodes for each in report.groups if each.is_reference)
            verb = "is" if report.alike == 1 else "are"
            text = f"{counted(report.alike, 'node')} {verb} {like}: {shortened(nodes)}"
            self.line(text, "bold", hang=2)
        others = [each for each in report.groups if not each.is_reference]
        order = sorted(others, key=_weight)
        shown = order if self.style.verbose else order[:_GROUPS]
        for group in shown:
            self.group(group)
        rest = order[len(shown) :]
        if rest:
            total = sum(each.count for each in rest)
            text = f"and {counted(total, 'node')} in {counted(len(rest), 'group')} (--verbose)"
            self.line(text, indent=2)
        if report.groups:
            self.line("")

    def group(self, group: NodeGroup) -> None:
        limit = len(group.differs) if self.style.verbose else _DIFFERENCES
        said = [difference_text(each) for each in group.differs[:limit]]
        more = len(group.differs) - limit
        said += [f"and {counted(more, 'difference')} more"] if more > 0 else []
        if group.problem:
            said.append(f"the check could not be done: {group.problem}")
        if not said:
            found = ", ".join(each.partition(" ")[2] for each in group.findings[:_DIFFERENCES])
            said.append(f"exit code {group.exit_code}" + (f", {found}" if found else ""))
        count = f" ({group.count} nodes)" if group.count > 1 else ""
        colour = "" if group.healthy else "red"
        self.line(f"{shortened(group.nodes)}{count}: {', '.join(said)}", colour, 2, 2)

    def values(self, report: FleetReport) -> None:
        """Print nodes by the value that was asked for."""
        if report.values:
            self.line(f"By {report.grouped_by}:", "bold")
        for each in report.values:
            text = f"{each.value}: {counted(each.count, 'node')}: {shortened(each.nodes)}"
            self.line(text, indent=2, hang=2)
        if report.values:
            self.line("")


def _weight(group: NodeGroup) -> tuple[bool, int, str]:
    """Return the order of groups: what fails, then what differs most gravely."""
    levels = list(Severity)
    worst = min((levels.index(each.level) for each in group.differs), default=len(levels))
    return group.healthy, worst, group.nodes
