"""Text for a person: the environment, the answer, then findings and the table behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Known, printable
from fadoctor.model.finding import Severity
from fadoctor.model.verdict import Dtype, Measured, Predicted, Verdict
from fadoctor.report.answer import State, answers_of
from fadoctor.report.environment_text import environment_lines
from fadoctor.report.paper import Paper
from fadoctor.report.words import becomes_text, counted, setting_text, use_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.finding import Finding, Undecided
    from fadoctor.model.report import Report
    from fadoctor.report.style import Style

_IDS_SHOWN, _ANSWERS_SHOWN = 4, 3

_STATES = {
    State.WORKS: ("✓", "+", "green"),
    State.FAILS: ("✗", "x", "red"),
    State.UNKNOWN: ("?", "?", "yellow"),
}

_NOT_KNOWN = ", where it runs: the table below cannot tell"

_VERSION_LIMIT = 24
"""Longest version that a table shows: own builds have long ones."""

_PREDICTED = {
    Predicted.WORKS: ("✓ works", "+ works", "green"),
    Predicted.FAILS: ("✗ fails", "x fails", "red"),
    Predicted.UNKNOWN: ("? unknown", "? unknown", "yellow"),
}


def render(report: Report, style: Style) -> str:
    """Return the report as text. The words alone carry the meaning; colour only repeats it."""
    page = _Page(style)
    page.answer(report)
    for alike in _alike(report.findings):
        page.finding(alike[0], [finding.subject for finding in alike])
    if not (report.findings or report.not_looked):
        page.line("No findings.", "green")
        page.line("")
    if not style.quiet:
        page.verdicts(report)
        page.undecided(report.unknown)
        page.environment(report)
    page.closing(report)
    return page.text()


class _Page(Paper):
    """The report of ``check``."""

    def answer(self, report: Report) -> None:
        """Say first what one came for: does it work, what to use, what to paste."""
        answers = answers_of(report)[:_ANSWERS_SHOWN]
        for answer in answers:
            mark, plain, colour = _STATES[answer.state]
            sign = plain if self.style.ascii_only else mark
            self.line(f"{sign} {answer.sentence}", f"bold {colour}", hang=2)
        said = {answer.sentence for answer in answers}
        for sentence in report.not_looked:
            if sentence not in said:
                self.line(sentence, "bold yellow", indent=2)
        self.recommendation(report)
        for overlay in report.overlays:
            self.line(f"Assumed: {overlay}", "magenta", indent=2)
        total = report.summary
        if total.error or total.warning:
            named = {"error": total.error, "warning": total.warning}
            counts = ", ".join(counted(number, name) for name, number in named.items() if number)
            self.line(f"{counts}. `fadoctor fix --dry-run` shows what to do.", indent=2)
        self.line("")

    def environment(self, report: Report) -> None:
        target = report.target
        self.line(f"Environment: {target.label} ({target.reason})", "bold")
        for text in environment_lines(report.environment):
            self.line(text, indent=2, hang=2)
        self.line("")

    def undecided(self, unknown: tuple[Undecided, ...]) -> None:
        """Say what stayed open, by reason: one fact that could not be read opens many rules."""
        if not unknown:
            return
        self.line(f"Could not be decided: {len(unknown)}", "yellow")
        reasons: dict[str, dict[str, None]] = {}
        for each in unknown:
            reasons.setdefault(each.reason, {})[each.rule_id] = None
        for reason, ids in reasons.items():
            shown = list(ids) if self.style.verbose else list(ids)[:_IDS_SHOWN]
            more = len(ids) - len(shown)
            tail = f" and {more} more (--verbose)" if more else ""
            self.line(f"? {reason}: {', '.join(shown)}{tail}", indent=2, hang=2)
        self.line("")

    def verdicts(self, report: Report) -> None:
        """Print a table for each GPU, one for those that are alike."""
        verdicts = report.verdicts
        tables: dict[tuple[Verdict, ...], list[str]] = {}
        for gpu in dict.fromkeys(verdict.gpu for verdict in verdicts):
            mine = tuple(
                msgspec.structs.replace(verdict, gpu="")
                for verdict in verdicts
                if verdict.gpu == gpu
            )
            tables.setdefault(mine, []).append(gpu)
        for mine, gpus in tables.items():
            ran = any(verdict.measured is not Measured.NOT_RUN for verdict in mine)
            what = "predicted and measured" if ran else "predicted"
            self.line(f"{_gpu_names(gpus)}: {what}", "bold")
            self.table(mine)
            for text in _reasons(mine):
                self.line(text, "dim", indent=2, hang=2)
            self.line("")
        self.because(report)

    def table(self, verdicts: tuple[Verdict, ...]) -> None:
        dtypes = [d for d in Dtype if any(verdict.dtype is d for verdict in verdicts)]
        rows = [[("backend", ""), ("version", ""), *((dtype.value, "") for dtype in dtypes)]]
        for backend in dict.fromkeys(verdict.backend for verdict in verdicts):
            mine = {v.dtype: v for v in verdicts if v.backend is backend}
            version = next(iter(mine.values())).package_version
            cells = [self.cell(mine.get(dtype)) for dtype in dtypes]
            rows.append([(backend.value, ""), (printable(version, _VERSION_LIMIT), ""), *cells])
        self.columns(rows)

    def cell(self, verdict: Verdict | None) -> tuple[str, str]:
        """Return the words of a cell, and their colour."""
        if verdict is None:
            return "", ""
        *marks, colour = _PREDICTED[verdict.predicted]
        measured = verdict.measured
        if measured is Measured.NOT_RUN:
            return (marks[1] if self.style.ascii_only else marks[0]), colour
        shade = {Measured.PASSED: "green", Measured.FAILED: "bold red"}.get(measured, "yellow")
        predicted = "" if verdict.predicted is Predicted.UNKNOWN else f"{verdict.predicted.value}, "
        return f"{predicted}{measured.value}", shade

    def recommendation(self, report: Report) -> None:
        advice = report.recommendation
        if advice is None:
            self.no_advice(report)
            return
        cells = [
            verdict
            for verdict in report.verdicts
            if verdict.backend is advice.backend and verdict.dtype is advice.dtype
        ]
        works = all(
            verdict.predicted is Predicted.WORKS or verdict.measured is Measured.PASSED
            for verdict in cells
        )
        is_wrong = any(each.severity is not Severity.NOTE for each in report.findings)
        later = ", once what is wrong below is repaired" if is_wrong else _NOT_KNOWN
        later = "" if works else later
        self.line(f"{use_text(advice.dtype, advice.backend)}{later}.", "bold", indent=2)
        for framework, settings in advice.settings.items():
            version = report.environment.get(f"{framework}.version")
            if isinstance(version, Absent):
                continue
            name = f"{framework} {version.value}" if isinstance(version, Known) else framework
            self.line(f"{name}: {setting_text(framework, settings)}", indent=4, hang=2)
        if taken := becomes_text(advice):
            self.line(taken, indent=4, hang=2)

    def because(self, report: Report) -> None:
        """Say why that is to be used, and what is ruled out."""
        if report.recommendation is not None:
            advice = report.recommendation
            self.line(f"Why {advice.backend.value}: {advice.why}", indent=2, hang=2)
            self.line("")

    def no_advice(self, report: Report) -> None:
        """Say why nothing is recommended, where a table was asked for."""
        if not report.verdicts:
            return
        if isinstance(report.environment.get("torch.version"), Absent):
            return
        if any(verdict.predicted is Predicted.FAILS for verdict in report.verdicts):
            text = "Nothing can be recommended yet: repair what is wrong below first."
        else:
            text = "Nothing can be recommended: nothing is known to work here."
        self.line(text, "bold", indent=2)

    def closing(self, report: Report) -> None:
        for error in report.rule_errors:
            self.line(f"rule {error.rule_id} broke: {error.reason}", "bold red")
        for note in report.notes:
            self.line(note, "bold")
        total = report.summary
        self.line(
            f"{counted(total.error, 'error')}, {counted(total.warning, 'warning')}, "
            f"{counted(total.note, 'note')}, {total.unknown} undecided. "
            f"Rules {report.rules.version}, fadoctor {report.fadoctor}."
        )


def _alike(findings: tuple[Finding, ...]) -> Iterable[list[Finding]]:
    """Group what says the same of several subjects: eight GPUs of one model are one paragraph."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule_id, finding.message), []).append(finding)
    return groups.values()


def _gpu_names(gpus: list[str]) -> str:
    """Return ``gpu[0] A100``, or ``gpu[0], gpu[1] A100`` for GPUs that are alike."""
    subjects, models = zip(*(gpu.partition(" ")[::2] for gpu in gpus), strict=True)
    return f"{', '.join(subjects)} {' / '.join(dict.fromkeys(models))}".strip()


def _reasons(verdicts: Iterable[Verdict]) -> Iterable[str]:
    """Say what was measured, and once each why cells fail or stay unknown."""
    said: dict[str, dict[str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.measured is not Measured.NOT_RUN:
            yield f"{verdict.backend.value} {verdict.dtype.value}: {verdict.detail}"
        elif verdict.predicted is not Predicted.WORKS:
            because = ", ".join(verdict.because[:_IDS_SHOWN])
            more = len(verdict.because) - _IDS_SHOWN
            because += f" and {more} more" if more > 0 else ""
            why = ": ".join(part for part in (because, verdict.detail) if part)
            cells = said.setdefault(f"{verdict.predicted.value}, {why}", {})
            cells.setdefault(verdict.backend.value, []).append(verdict.dtype.value)
    for why, cells in said.items():
        yield f"{why}: " + ", ".join(f"{name} {'/'.join(dtypes)}" for name, dtypes in cells.items())
