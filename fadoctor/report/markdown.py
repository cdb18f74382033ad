"""Markdown for an issue or a job's summary: the answer first, details folded.

Everything that came from outside is escaped; the caller redacts.
"""

from __future__ import annotations

import itertools
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
from fadoctor.report.answer import State, answers_of, not_said
from fadoctor.report.blame import blame_text
from fadoctor.report.ci.listing import by_reason
from fadoctor.report.environment_text import environment_lines
from fadoctor.report.explanation_text import silence_of
from fadoctor.report.headline import headline_of
from fadoctor.report.markdown_screen import SCREEN, Part, fitted, folded
from fadoctor.report.page_markdown import code_span, escape
from fadoctor.report.plan_answer import answer_text, left_over
from fadoctor.report.plan_text import command_lines
from fadoctor.report.rule_address import page_of
from fadoctor.report.words import becomes_text, counted, pasted_settings, rules_text, use_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.model.finding import Finding, Undecided
    from fadoctor.model.fix import Fix, Step
    from fadoctor.model.smoke import SmokeReport
    from fadoctor.model.verdict import Verdict

_MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}  # noqa: RUF001 -- the sign that is meant
_CELLS = {Predicted.WORKS: "✅ works", Predicted.FAILS: "❌ fails", Predicted.UNKNOWN: "❔ unknown"}
_LIMIT = 900_000
"""Longest page, in characters: a job's summary of more than 1 MiB is dropped whole."""

_STATES = {State.WORKS: "✅", State.FAILS: "❌", State.UNKNOWN: "❔"}
_ANSWERS_SHOWN, _FIXES_SHOWN, _STEPS_SHOWN, _LINE_LIMIT = 4, 3, 3, 4_000
_SUBJECTS_SHOWN, _EVIDENCE_SHOWN, _NAMES_SHOWN = 8, 12, 6
_CAUSE_LINES = 26
"""What one cause may take of a screen; the answer, the settings and the foot need the rest."""

_HEADLINE_LIMIT, _MESSAGE_LIMIT = 300, 500
_TABLE, _WAY, _STEPS, _QUOTE, _NOTES = range(5)
"""What folds first where a page is longer than a screen for each cause."""


_COMMAND = re.compile(r"`([^`\n]{1,400})`")
"""How sentences of rules quote a command: `pip show torch`."""


def render(document: Report | SmokeReport | Explanation | Plan) -> str:
    """Return the page, one blank line between its blocks, at most a screen open for each cause."""
    if isinstance(document, Plan):
        return _bounded(_plan(document))
    if isinstance(document, Report):
        parts = list(_report(document))
    elif isinstance(document, Explanation):
        parts = list(_explanation(document))
    else:
        parts = list(_smoke(document))
    causes = len(alike(document.findings))
    return _bounded(part.text for part in fitted(parts, SCREEN * max(1, causes)))


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


def _report(report: Report) -> Iterator[Part]:
    total = report.summary
    yield Part(
        f"### fadoctor check: {counted(total.error, 'error')}, "
        f"{counted(total.warning, 'warning')}, {counted(total.note, 'note')}"
    )
    yield Part("\\\n".join(_answers(report)))
    if blame := blame_text(report):
        yield Part(escape(blame))
    if unsaid := not_said(report):
        yield Part("\n\n".join(map(escape, unsaid)), "Not looked at", _NOTES)
    yield from _recommended(report)
    yield from _findings(report.findings)
    yield from _tables(report.verdicts)
    lines = [*environment_lines(report.environment), *report.notes]
    yield Part(folded("Environment", [f"- {escape(line)}" for line in lines]))
    if report.unknown:
        said = f"Could not be decided: {len(report.unknown)}"
        yield Part(folded(said, _undecided(report.unknown)))
    assumed = f" Assumed: {escape(', '.join(report.overlays))}." if report.overlays else ""
    yield Part(f"<sub>{_by(report.fadoctor, rules_text(report.rules))}{assumed}</sub>")


def _recommended(report: Report) -> Iterator[Part]:
    if (advice := report.recommendation) is None:
        return
    use = use_text(advice.dtype, advice.backend, report.environment)
    if len(advice.why) > _MESSAGE_LIMIT:
        yield Part(f"**{use}.**")
        yield Part(folded("Why this", [escape(advice.why)]))
    else:
        yield Part(f"**{use}.** {escape(advice.why)}")
    settings = [
        f"- {escape(label)}: {code_span(text)}"
        for label, text in pasted_settings(advice, report.environment)
    ]
    if taken := becomes_text(advice, report.environment):
        settings.append(f"- {escape(taken)}")
    if settings:
        yield Part("\n".join(settings), "Settings", _NOTES)


def _answers(report: Report) -> Iterator[str]:
    answers = answers_of(report)
    for each in answers[:_ANSWERS_SHOWN]:
        yield f"{_STATES[each.state]} {escape(printable(each.sentence, _HEADLINE_LIMIT))}"
    if len(answers) > _ANSWERS_SHOWN:
        yield f"and {len(answers) - _ANSWERS_SHOWN} more kinds of GPU"


def _explanation(report: Explanation) -> Iterator[Part]:
    causes = counted(len(report.findings), "cause")
    said = causes if report.findings else silence_of(report).lower().rstrip(".")
    yield Part(f"### fadoctor explain: {said}")
    yield from _findings(report.findings, quotes=True)
    yield from _noted(report.notes)
    yield Part(f"<sub>{_by(report.fadoctor, rules_text(report.rules))}</sub>")


def _noted(notes: Sequence[str]) -> Iterator[Part]:
    if notes:
        yield Part("\n\n".join(map(escape, notes)), counted(len(notes), "note"), _NOTES)


def _smoke(report: SmokeReport) -> Iterator[Part]:
    total = report.summary
    yield Part(
        f"### fadoctor smoke: {total.passed} passed, {total.failed} failed, "
        f"{total.refused} refused, {total.not_run} not run"
    )
    yield Part("On a GPU." if report.gpu_tested else "No GPU was tested.")
    header = ("device", "backend", "dtype", "case", "result", "detail")
    rows = [
        (each.device, each.backend.value, each.dtype.value, each.case,
         each.measured.value.replace("_", " "), each.detail)
        for each in report.cells
    ]  # fmt: skip
    if rows:
        yield Part(_table(header, rows), counted(len(rows), "case"), _TABLE)
    yield from _findings(report.findings)
    yield from _noted(report.notes)
    torch = escape(report.torch_version or "unknown")
    yield Part(f"<sub>torch {torch}. {_by(report.fadoctor, rules_text(report.rules))}</sub>")


def _plan(plan: Plan) -> Iterator[str]:
    yield "### fadoctor fix"
    if plan.changes:
        rows = [(each.distribution, each.before or "-", each.after or "-") for each in plan.changes]
        yield _table(("package", "now", "then"), rows)
    yield escape(answer_text(plan))
    for number, action in enumerate(plan.actions, 1):
        yield f"{number}. {escape(action.text)}"
        lines = () if plan.edits else command_lines(action, windows=plan.windows)
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


def alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings as one reads them: what says the same of several subjects is one."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.rule_id, finding.message), []).append(finding)
    return list(found.values())


def _findings(findings: Sequence[Finding], *, quotes: bool = False) -> Iterator[Part]:
    """Yield a short section for each cause."""
    for same in alike(findings):
        yield from fitted(list(_cause(same, quotes=quotes)), _CAUSE_LINES)


def _cause(same: Sequence[Finding], *, quotes: bool) -> Iterator[Part]:
    finding = same[0]
    subjects = [each.subject for each in same]
    said = headline_of(finding, subjects, at_most=_SUBJECTS_SHOWN)
    yield Part(f"#### {_MARKS[finding.severity]} {escape(printable(said, _HEADLINE_LIMIT))}")
    places = "".join(f"\n- at {code_span(str(place))}" for place in finding.locations[:4])
    is_long = len(finding.message) > _MESSAGE_LIMIT
    message = printable(finding.message, _MESSAGE_LIMIT) if is_long else finding.message
    yield Part(f"{_prose(message)}{places}")
    if is_long:
        yield Part(folded("The whole message", [_prose(finding.message)]))
    lines = [str(each.value) for each in finding.evidence if each.fact == "log"]
    if quotes and lines:
        yield Part(_fence("\n".join(lines[:5]), ""), "Lines of the text", _QUOTE)
    first, others = finding.fixes[:1], finding.fixes[1:_FIXES_SHOWN]
    for fix in first:
        yield Part("\n\n".join([_way(fix), *_steps(fix.steps[:_STEPS_SHOWN])]))
        if more := fix.steps[_STEPS_SHOWN:]:
            yield Part("\n\n".join(_steps(more)), counted(len(more), "more step"), _STEPS)
    if others:
        ways = "\n\n".join(block for fix in others for block in (_way(fix), *_steps(fix.steps)))
        named = f"Another fix: {others[0].title}" if len(others) == 1 else "Other fixes"
        yield Part(ways, named, _WAY)
    yield Part(folded("Why", [_prose(finding.why), "", *_evidence(finding)]))


def _way(fix: Fix) -> str:
    return f"**Fix:** {_prose(fix.title)}"


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    """Yield commands as they are typed, and what is done by hand as lists."""
    for is_typed, some in itertools.groupby(steps, _is_typed):
        if is_typed:
            yield _fence("\n".join(step.text for step in some), "sh")
        else:
            yield "\n".join(f"- {_prose(step.text)}" for step in some)


def _is_typed(step: Step) -> bool:
    return bool(step.items) or step.kind is StepKind.SYSTEM


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


def _tables(verdicts: Sequence[Verdict]) -> Iterator[Part]:
    gpus = list(dict.fromkeys(verdict.gpu for verdict in verdicts))
    tables = [_table_of(gpu, [each for each in verdicts if each.gpu == gpu]) for gpu in gpus]
    if tables:
        yield Part(tables[0], f"What works on {gpus[0]}", _TABLE)
    if tables[1:]:
        yield Part("\n\n".join(tables[1:]), f"What works on {', '.join(gpus[1:])}", _TABLE)


def _table_of(gpu: str, verdicts: Sequence[Verdict]) -> str:
    dtypes = [dtype for dtype in Dtype if any(each.dtype is dtype for each in verdicts)]
    rows = []
    for backend in dict.fromkeys(each.backend for each in verdicts):
        cells = {each.dtype: each for each in verdicts if each.backend is backend}
        version = next(iter(cells.values())).package_version
        shown = [_cell(cells[dtype]) if dtype in cells else "" for dtype in dtypes]
        rows.append((backend.value, version, *shown))
    table = _table(("backend", "version", *(dtype.value for dtype in dtypes)), rows)
    return f"**{escape(gpu)}**\n\n{table}"


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


def _fence(text: str, language: str) -> str:
    """Return lines as they are typed, fenced with more backticks than they hold in a row."""
    lines = [printable(line, _LINE_LIMIT) for line in text.splitlines()]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _by(version: str, rules: str) -> str:
    return f"fadoctor {escape(version)}, rules {escape(rules)}."


fence = _fence
"""For pages of other things than reports."""


def _prose(text: str) -> str:
    """Return a sentence with its commands as code; all else is shown as it is."""
    parts = _COMMAND.split(text)
    return "".join(
        code_span(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )
