"""Text for a person about a log: the causes with the lines that show them, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.explanation import Agreement
from fadoctor.report.headline import headline
from fadoctor.report.paper import MARKS, Paper
from fadoctor.report.words import counted, rules_text

if TYPE_CHECKING:
    from fadoctor.model.explanation import Check, Explanation
    from fadoctor.model.finding import Finding
    from fadoctor.report.style import Style

SILENCE = "No known error about attention, CUDA or the build was found."

NOT_RECOGNISED = "Not recognised: this text shows no known problem."

_BY_ENVIRONMENT = "This environment confirms it"
_BY_LOG = "What the log says confirms it"


def render(report: Explanation, style: Style) -> str:
    """Return the explanation as text."""
    paper = Paper(style)
    if style.quiet:
        paper.whole(_one_line(paper, report))
        return paper.text()
    _header(paper, report)
    checks = {check.rule_id: check for check in report.checks}
    for finding in report.findings:
        check = checks.get(finding.rule_id)
        confirmed = _BY_ENVIRONMENT if report.target is not None else _BY_LOG
        paper.finding(finding, ["environment"], _quoted(finding, check, confirmed))
    if not report.findings:
        paper.line(silence_of(report), "bold" if report.log.on_topic else "green")
    for error in report.rule_errors:
        paper.line(f"rule {error.rule_id} broke: {error.reason}", "bold red")
    for note in report.notes:
        paper.line(note, "bold")
    total = report.summary
    if report.plan is not None:
        from fadoctor.report import plan_text  # noqa: PLC0415 -- only where a plan was asked for

        paper.line("How `fadoctor fix` would repair this environment:", "bold")
        paper.lines += [*plan_text.steps(report.plan, style), ""]
    if report.findings:
        paper.line(
            f"{counted(total.error, 'error')}, {counted(total.warning, 'warning')}, "
            f"{counted(total.note, 'note')}. "
            f"Rules {rules_text(report.rules)}, fadoctor {report.fadoctor}."
        )
    return paper.text()


def silence_of(report: Explanation) -> str:
    """Return what is said where there is no finding: whether the text is about this field."""
    return NOT_RECOGNISED if report.log.on_topic else SILENCE


def _one_line(paper: Paper, report: Explanation) -> str:
    """Return the most likely cause and how many others there are, for ``--quiet``."""
    if not report.findings:
        return " ".join([silence_of(report), *report.notes])
    first, *others = report.findings
    places = [each.source for each in first.evidence if each.fact == "log"][:1]
    more = f" And {counted(len(others), 'other cause')}." if others else ""
    said = headline(first, (*places, first.rule_id), message=True)
    return f"{paper.mark(MARKS[first.severity])} {said}{more}"


def _header(paper: Paper, report: Explanation) -> None:
    log = report.log
    paper.line(f"Log: {log.name} ({counted(log.lines, 'line')})", "bold")
    if report.target is not None:
        paper.line(f"Environment: {report.target.label} ({report.target.reason})", "bold")
    if report.overlays:
        paper.line(f"Assumed: {'; '.join(report.overlays)}", "magenta")
    if log.named and paper.style.verbose:
        named = ", ".join(f"{name} {value}" for name, value in log.named.items())
        paper.line(f"named in it: {named}", indent=2, hang=2)
    paper.line("")


def _quoted(finding: Finding, check: Check | None, confirmed: str) -> tuple[str, ...]:
    """Return the lines of the log that show a cause, and what facts say about it."""
    lines = [f"{each.source}: {each.value}" for each in finding.evidence if each.fact == "log"]
    if check is None:
        return tuple(lines)
    if check.agreement is not Agreement.CONFIRMED:
        return (*lines, check.detail)
    return (*lines, _confirmed(finding, check, confirmed))


def _confirmed(finding: Finding, check: Check, confirmed: str) -> str:
    """Return what confirms a cause; a rule is named only where it is another than the cause's."""
    rule_id, _, message = check.detail.partition(": ")
    if message == finding.message:
        return f"{confirmed}."
    return f"{confirmed}: {message}" + (f" ({rule_id})" if rule_id != finding.rule_id else "")
