"""Text for a person: the environment, the answer, then findings and the table behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.verdicts.audience import serves
from fadoctor.model.environment import PASTED
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.verdict import Measured, Predicted, Verdict
from fadoctor.report.answer import State, answers_of, is_flash, is_tabled, left_out, not_said
from fadoctor.report.blame import blame_text
from fadoctor.report.doubt import doubt_of, lacks_driver, why_no_advice
from fadoctor.report.environment_text import environment_lines, with_gpus_alike
from fadoctor.report.paper import Paper
from fadoctor.report.verdict_table import gpu_names, print_table, reasons
from fadoctor.report.words import becomes_text, counted, pasted_settings, rules_text, use_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.finding import Finding, Undecided
    from fadoctor.model.report import Report
    from fadoctor.report.style import Style

_IDS_SHOWN, _ANSWERS_SHOWN, _REASONS_SHOWN = 4, 3, 4

_STATES = {
    State.WORKS: ("✓", "+", "green"),
    State.FAILS: ("✗", "x", "red"),
    State.UNKNOWN: ("?", "?", "yellow"),
}

_REPAIRED = ", once the problems are repaired"
_NOT_KNOWN = "; not verified for your versions"
_NO_DRIVER = "; add --driver to know whether it runs"


_SAVED = "saved facts"
"""How the reason of a target begins that was saved."""


def render(report: Report, style: Style) -> str:
    """Return the report as text. The words alone carry the meaning; colour only repeats it."""
    page = _Page(style)
    if style.quiet:
        page.whole(_one_line(page, report), _STATES[answers_of(report)[0].state][2])
        return page.text()
    page.answer(report)
    for alike in _alike(report.findings):
        page.finding(alike[0], [finding.subject for finding in alike])
    if not style.brief:
        page.verdicts(report)
        page.undecided(report.unknown)
        page.environment(report)
    page.closing(report)
    return page.text()


def _one_line(page: Paper, report: Report) -> str:
    """Return the answer, what to use and how much is wrong, for ``--quiet``."""
    answers = answers_of(report)
    mark, plain, _ = _STATES[answers[0].state]
    parts = [page.mark((mark, plain)), *(each.sentence for each in answers[:_ANSWERS_SHOWN])]
    if report.recommendation is not None:
        parts.append(f"{_use(report)}.")
    parts += [each for each in not_said(report)[:1] if each == report.not_looked[0]]
    parts += [f"Assumed: {overlay}." for overlay in report.overlays]
    parts += [f"Rule {error.rule_id} broke: {error.reason}." for error in report.rule_errors]
    total = report.summary
    found = {"error": total.error, "warning": total.warning, "note": total.note}
    counts = [counted(number, name) for name, number in found.items() if number]
    counts += [f"{total.unknown} undecided"] if total.unknown else []
    if not (counts or report.not_looked):
        counts = ["No findings"]
    return " ".join([*parts, *([f"{', '.join(counts)}."] if counts else [])])


def _use(report: Report) -> str:
    """Return what to use, and what that hangs on."""
    advice = report.recommendation
    assert advice is not None  # noqa: S101 -- callers looked
    mine = [
        verdict
        for verdict in report.verdicts
        if verdict.backend is advice.backend
        and verdict.dtype is advice.dtype
        and verdict.gpu not in left_out(report)
        and verdict.measured is not Measured.PASSED
    ]
    said = {verdict.predicted for verdict in mine}
    if Predicted.FAILS in said:
        later = _REPAIRED
    elif (Predicted.UNKNOWN in said or serves(report.environment)) and _must_install(report):
        later = ", once the errors are repaired"
    else:
        later = _what_is_open(report, mine) if Predicted.UNKNOWN in said else ""
    return f"{use_text(advice.dtype, advice.backend, report.environment)}{later}"


def _what_is_open(report: Report, verdicts: list[Verdict]) -> str:
    """Return what keeps it from being known: a problem below, the driver, or the releases."""
    if doubt_of(report, verdicts) is not None:
        return _REPAIRED
    return _NO_DRIVER if lacks_driver(verdicts) else _NOT_KNOWN


def _must_install(report: Report) -> bool:
    """Return whether an error is removed by other software alone, and not by what is advised."""
    errors = (each for each in report.findings if each.severity is Severity.ERROR)
    kinds = ({step.kind for step in each.fixes[0].steps} for each in errors if each.fixes)
    return any(kind & {StepKind.INSTALL, StepKind.SYSTEM} for kind in kinds)


def _next_command(report: Report) -> str:
    """Return the command that plans, and which options it needs to plan for the same target."""
    facts, target = report.environment, report.target
    named = (each.partition(" ")[0] for each in report.overlays)
    options = {name for name in named if name.startswith("--")}  # the others say what was assumed
    if target.reason.startswith("--"):
        options.add(target.reason.partition(" ")[0])
    elif target.reason.startswith(_SAVED) or target.reason == PASTED:
        options.add("--facts")
    is_set = (name for name, fact in facts.items() if isinstance(fact, Known))
    if target.reason != PASTED and any(name.startswith("config.") for name in is_set):
        options.add("--config")
    *others, last = sorted(options) or [""]
    same = f"{', '.join(others)} and {last}" if others else last
    return (
        f"`fadoctor fix --dry-run`, with the same {same}," if same else "`fadoctor fix --dry-run`"
    )


class _Page(Paper):
    """The report of ``check``."""

    def answer(self, report: Report) -> None:
        """Say first what one came for: does it work, what to use, what to paste."""
        answers = answers_of(report)[:_ANSWERS_SHOWN]
        for answer in answers:
            mark, plain, colour = _STATES[answer.state]
            sign = plain if self.style.ascii_only else mark
            self.line(f"{sign} {answer.sentence}", f"bold {colour}", hang=2)
        for sentence in [] if is_tabled(report) else not_said(report):
            self.line(sentence, "bold yellow", indent=2)
        if blame := blame_text(report):
            self.line(blame, indent=2, hang=2)
        self.recommendation(report)
        for sentence in not_said(report) if is_tabled(report) else []:
            self.line(sentence, indent=2)
        if report.overlays:
            self.line(f"Assumed: {'; '.join(report.overlays)}", "magenta", indent=2)
        total = report.summary
        if total.error or total.warning:
            named = {"error": total.error, "warning": total.warning}
            counts = ", ".join(counted(number, name) for name, number in named.items() if number)
            self.line(f"{counts}. {_next_command(report)} shows what to do.", indent=2)
        elif not (report.findings or report.not_looked):
            self.line("No findings.", "green", indent=2)
        self.line("")

    def environment(self, report: Report) -> None:
        target = report.target
        self.line(f"Environment: {target.label} ({target.reason})", "bold")
        lines = environment_lines(report.environment)
        for text in lines if self.style.verbose else with_gpus_alike(lines):
            self.line(text, indent=2, hang=2)

    def undecided(self, unknown: tuple[Undecided, ...]) -> None:
        """Say what stayed open, by reason: one fact that could not be read opens many rules."""
        if not unknown:
            return
        self.line(f"Could not be decided: {len(unknown)}", "yellow")
        said: dict[str, dict[str, None]] = {}
        for each in unknown:
            said.setdefault(each.reason, {})[each.rule_id] = None
        most = len(said) if self.style.verbose else _REASONS_SHOWN
        for reason, ids in list(said.items())[:most]:
            shown = list(ids) if self.style.verbose else list(ids)[:_IDS_SHOWN]
            more = len(ids) - len(shown)
            tail = f" and {more} more (--verbose)" if more else ""
            self.line(f"? {reason}: {', '.join(shown)}{tail}", indent=2, hang=2)
        if len(said) > most:
            left_out = counted(len(said) - most, "more reason")
            self.line(f"and {left_out} (--verbose)", indent=2, hang=2)
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
            self.line(f"{gpu_names(gpus)}: {_how(mine, verbose=self.style.verbose)}", "bold")
            print_table(self, mine)
            for text in reasons(mine if self.style.verbose else _unexplained(mine, report)):
                self.line(text, "dim", indent=2, hang=2)
            self.line("")
        self.because(report)

    def recommendation(self, report: Report) -> None:
        advice = report.recommendation
        if advice is None:
            self.no_advice(report)
            return
        self.line(f"{_use(report)}.", "bold", indent=2)
        for label, text in pasted_settings(advice, report.environment):
            self.paste(label, text)
        if taken := becomes_text(advice, report.environment):
            self.line(taken, indent=4, hang=2)

    def because(self, report: Report) -> None:
        """Say why that is to be used, and what is ruled out."""
        advice = report.recommendation
        if advice is None:
            return
        if self.style.verbose or any(each.state is not State.WORKS for each in answers_of(report)):
            self.line(f"Why {advice.backend.value}: {advice.why}", indent=2, hang=2)
            self.line("")

    def no_advice(self, report: Report) -> None:
        """Say why nothing is recommended, where a table was asked for."""
        if not is_tabled(report):
            return
        self.line(why_no_advice(report), "bold", indent=2)

    def closing(self, report: Report) -> None:
        for error in report.rule_errors:
            self.line(f"rule {error.rule_id} broke: {error.reason}", "bold red")
        for note in report.notes:
            self.line(note, "bold")
        total = report.summary
        self.line(
            f"{counted(total.error, 'error')}, {counted(total.warning, 'warning')}, "
            f"{counted(total.note, 'note')}, {total.unknown} undecided. "
            f"Rules {rules_text(report.rules)}, fadoctor {report.fadoctor}."
        )


def _alike(findings: tuple[Finding, ...]) -> Iterable[list[Finding]]:
    """Group what says the same of several subjects: eight GPUs of one model are one paragraph."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule_id, finding.message), []).append(finding)
    return groups.values()


def _how(verdicts: tuple[Verdict, ...], *, verbose: bool) -> str:
    """Return how a table came about, and where its reasons are."""
    ran = any(verdict.measured is not Measured.NOT_RUN for verdict in verdicts)
    what = "predicted and measured" if ran else "predicted"
    plain = all(verdict.predicted is Predicted.WORKS for verdict in verdicts) and not ran
    return what if verbose or plain else f"{what} (why: --verbose)"


def _unexplained(verdicts: tuple[Verdict, ...], report: Report) -> tuple[Verdict, ...]:
    """Return the cells whose reasons a short report owes: no finding above tells them.

    Failed runs, and FlashAttention in half precision where it does not work.
    """
    told = {rule for each in report.findings for rule in (each.rule_id, *each.consequences)}
    return tuple(
        each
        for each in verdicts
        if each.measured is Measured.FAILED
        or (each.measured is Measured.NOT_RUN and is_flash(each) and not told & {*each.because})
    )
