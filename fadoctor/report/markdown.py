"""Markdown for an issue or a job's summary: the answer first, details folded.

Everything that came from outside is escaped; the caller redacts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.explanation import Explanation
from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.plan import Plan
from fadoctor.model.plan_words import alternative_text, conflict_text
from fadoctor.model.report import Report
from fadoctor.model.verdict import Dtype, Measured, Predicted
from fadoctor.report.answer import State, answers_of
from fadoctor.report.blame import blame_text
from fadoctor.report.ci.listing import by_reason
from fadoctor.report.environment_text import environment_lines
from fadoctor.report.explanation_text import silence_of
from fadoctor.report.headline import headline_of
from fadoctor.report.page_markdown import code_span, escape
from fadoctor.report.plan_answer import answer_text, left_over
from fadoctor.report.plan_text import command_lines
from fadoctor.report.rule_address import page_of
from fadoctor.report.words import becomes_text, counted, pasted_settings, rules_text, use_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.model.finding import Finding, Undecided
    from fadoctor.model.fix import Fix
    from fadoctor.model.smoke import SmokeReport
    from fadoctor.model.verdict import Verdict

_MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}  # noqa: RUF001 -- the sign that is meant
_CELLS = {Predicted.WORKS: "✅ works", Predicted.FAILS: "❌ fails", Predicted.UNKNOWN: "❔ unknown"}
_LIMIT = 900_000
"""Longest page, in characters: a job's summary of more than 1 MiB is dropped whole."""

_STATES = {State.WORKS: "✅", State.FAILS: "❌", State.UNKNOWN: "❔"}
_ANSWERS_SHOWN, _FIXES_SHOWN, _LINE_LIMIT = 4, 3, 4_000
_SUBJECTS_SHOWN, _EVIDENCE_SHOWN, _NAMES_SHOWN = 8, 12, 6

_COMMAND = re.compile(r"`([^`\n]{1,400})`")
"""How sentences of rules quote a command: `pip show torch`."""


def render(document: Report | SmokeReport | Explanation | Plan) -> str:
    """Return the page, one blank line between its blocks."""
    if isinstance(document, Report):
        blocks = _report(document)
    elif isinstance(document, Explanation):
        blocks = _explanation(document)
    elif isinstance(document, Plan):
        blocks = _plan(document)
    else:
        blocks = _smoke(document)
    return _bounded(blocks)


def _bounded(blocks: Iterable[str]) -> str:
    """Join blocks, and say where a page had to end."""
    kept, size = [], 0
    for block in blocks:
        size += len(block) + 2
        if size > _LIMIT:
            kept.append("The rest does not fit: `--format json` has all of it.")
            break
        kept.append(block)
    return "\n\n".join(kept) + "\n"


def _report(report: Report) -> Iterator[str]:
    total = report.summary
    yield (
        f"### fadoctor check: {counted(total.error, 'error')}, "
        f"{counted(total.warning, 'warning')}, {counted(total.note, 'note')}"
    )
    yield "\\\n".join(_answers(report))
    if blame := blame_text(report):
        yield escape(blame)
    yield from map(escape, report.not_looked)
    if (advice := report.recommendation) is not None:
        use = use_text(advice.dtype, advice.backend, report.environment)
        yield f"**{use}.** {escape(advice.why)}"
        settings = [
            f"- {escape(label)}: {code_span(text)}"
            for label, text in pasted_settings(advice, report.environment)
        ]
        if taken := becomes_text(advice, report.environment):
            settings.append(f"- {escape(taken)}")
        if settings:
            yield "\n".join(settings)
    yield from _findings(report.findings)
    yield from _tables(report.verdicts)
    lines = [*environment_lines(report.environment), *report.notes]
    yield _folded("Environment", [f"- {escape(line)}" for line in lines])
    if report.unknown:
        yield _folded(f"Could not be decided: {len(report.unknown)}", _undecided(report.unknown))
    assumed = f" Assumed: {escape(', '.join(report.overlays))}." if report.overlays else ""
    yield f"<sub>{_by(report.fadoctor, rules_text(report.rules))}{assumed}</sub>"


def _answers(report: Report) -> Iterator[str]:
    answers = answers_of(report)
    for each in answers[:_ANSWERS_SHOWN]:
        yield f"{_STATES[each.state]} {escape(each.sentence)}"
    if len(answers) > _ANSWERS_SHOWN:
        yield f"and {len(answers) - _ANSWERS_SHOWN} more kinds of GPU"


def _explanation(report: Explanation) -> Iterator[str]:
    causes = counted(len(report.findings), "cause")
    said = causes if report.findings else silence_of(report).lower().rstrip(".")
    yield f"### fadoctor explain: {said}"
    yield from _findings(report.findings, quotes=True)
    yield from map(escape, report.notes)
    yield f"<sub>{_by(report.fadoctor, rules_text(report.rules))}</sub>"


def _smoke(report: SmokeReport) -> Iterator[str]:
    total = report.summary
    yield (
        f"### fadoctor smoke: {total.passed} passed, {total.failed} failed, "
        f"{total.refused} refused, {total.not_run} not run"
    )
    yield "On a GPU." if report.gpu_tested else "No GPU was tested."
    header = ("device", "backend", "dtype", "case", "result", "detail")
    rows = [
        (each.device, each.backend.value, each.dtype.value, each.case,
         each.measured.value.replace("_", " "), each.detail)
        for each in report.cells
    ]  # fmt: skip
    if rows:
        yield _table(header, rows)
    yield from _findings(report.findings)
    yield from map(escape, report.notes)
    torch = escape(report.torch_version or "unknown")
    yield f"<sub>torch {torch}. {_by(report.fadoctor, rules_text(report.rules))}</sub>"


def _plan(plan: Plan) -> Iterator[str]:
    yield "### fadoctor fix"
    if plan.changes:
        rows = [(each.distribution, each.before or "-", each.after or "-") for each in plan.changes]
        yield _table(("package", "now", "then"), rows)
    yield escape(answer_text(plan))
    for number, action in enumerate(plan.actions, 1):
        yield f"{number}. {escape(action.text)}"
        lines = command_lines(action, windows=plan.windows)
        if lines:
            yield _fence("\n".join(lines), "sh")
    for edit in plan.edits:
        yield f"{escape(edit.file)} {escape(edit.text)}".rstrip()
        if edit.diff:
            yield _fence(edit.diff, "diff")
        if edit.command:
            yield _fence(" ".join(edit.command), "sh")
    for words, items in left_over(plan.proof).items():
        yield f"{escape(words)}: {escape('; '.join(items))}"
    for conflict in plan.conflicts:
        yield f"Impossible: {escape(conflict_text(conflict))}."
        ways = [f"- {escape(alternative_text(each))}" for each in conflict.alternatives]
        if ways:
            yield "\n".join(["What would help:", "", *ways])
    yield from map(escape, plan.notes)


def _findings(findings: Sequence[Finding], *, quotes: bool = False) -> Iterator[str]:
    """Yield a short section for each cause; what says the same of several subjects is one."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.rule_id, finding.message), []).append(finding)
    for finding, *others in alike.values():
        subjects = [each.subject for each in (finding, *others)]
        said = headline_of(finding, subjects, at_most=_SUBJECTS_SHOWN)
        yield f"#### {_MARKS[finding.severity]} {escape(said)}"
        places = "".join(f"\n- at {code_span(str(place))}" for place in finding.locations[:4])
        yield f"{_prose(finding.message)}{places}"
        lines = [str(each.value) for each in finding.evidence if each.fact == "log"]
        if quotes and lines:
            yield _fence("\n".join(lines[:5]), "")
        for fix in finding.fixes[:_FIXES_SHOWN]:
            yield from _fix(fix)
        yield _folded("Why", [_prose(finding.why), "", *_evidence(finding)])


def _fix(fix: Fix) -> Iterator[str]:
    yield f"**Fix:** {_prose(fix.title)}"
    for step in fix.steps:
        typed = step.items or step.kind is StepKind.SYSTEM
        yield _fence(step.text, "sh") if typed else f"- {_prose(step.text)}"


def _evidence(finding: Finding) -> Iterator[str]:
    more = len(finding.evidence) - _EVIDENCE_SHOWN
    for each in finding.evidence[:_EVIDENCE_SHOWN]:
        value = "absent" if each.value is None else str(each.value)
        yield f"- {code_span(each.fact)}: {code_span(value)}"
    if more > 0:
        yield f"- and {more} more, in `--format json`"
    page = code_span(page_of(finding.rule_id))
    confidence = finding.confidence.value
    yield f"- rule {code_span(finding.rule_id)}, confidence {confidence}, page: {page}"


def _tables(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for gpu in dict.fromkeys(verdict.gpu for verdict in verdicts):
        mine = [verdict for verdict in verdicts if verdict.gpu == gpu]
        dtypes = [dtype for dtype in Dtype if any(each.dtype is dtype for each in mine)]
        rows = []
        for backend in dict.fromkeys(each.backend for each in mine):
            cells = {each.dtype: each for each in mine if each.backend is backend}
            version = next(iter(cells.values())).package_version
            shown = [_cell(cells[dtype]) if dtype in cells else "" for dtype in dtypes]
            rows.append((backend.value, version, *shown))
        yield f"**{escape(gpu)}**"
        yield _table(("backend", "version", *(dtype.value for dtype in dtypes)), rows)


def _cell(verdict: Verdict) -> str:
    if verdict.measured is Measured.NOT_RUN:
        return _CELLS[verdict.predicted]
    mark = {Measured.PASSED: "✅", Measured.FAILED: "❌"}.get(verdict.measured, "❔")
    return f"{mark} {verdict.measured.value}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _undecided(unknown: Iterable[Undecided]) -> list[str]:
    """Return a line for each reason, with the rules that it keeps open."""
    found = []
    for reason, names in by_reason(unknown).items():
        shown = ", ".join(code_span(name) for name in names[:_NAMES_SHOWN])
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        found.append(f"- {escape(reason)}: {shown}{more}")
    return found


def _folded(summary: str, lines: Iterable[str]) -> str:
    """Return lines that are shown when one asks for them."""
    body = "\n".join(lines)
    return f"<details><summary>{escape(summary)}</summary>\n\n{body}\n\n</details>"


def _fence(text: str, language: str) -> str:
    """Return lines as they are typed, fenced with more backticks than they hold in a row."""
    lines = [printable(line, _LINE_LIMIT) for line in text.splitlines()]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _by(version: str, rules: str) -> str:
    return f"fadoctor {escape(version)}, rules {escape(rules)}."


fence, folded = _fence, _folded
"""For pages of other things than reports."""


def _prose(text: str) -> str:
    """Return a sentence with its commands as code; all else is shown as it is."""
    parts = _COMMAND.split(text)
    return "".join(
        code_span(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )
