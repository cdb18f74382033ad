"""The page of each kind of document: the answer and what to use first, then what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.explanation import Explanation
from fadoctor.model.plan import Plan
from fadoctor.model.plan_words import alternative_text, change_text, conflict_text
from fadoctor.model.report import Report
from fadoctor.report.answer import State, answers_of, not_said
from fadoctor.report.blame import blame_text
from fadoctor.report.environment_text import environment_lines
from fadoctor.report.explanation_text import silence_of
from fadoctor.report.html.document import document
from fadoctor.report.html.elements import Html, command, folded, listed, quoted, tag
from fadoctor.report.html.findings import article
from fadoctor.report.html.matrix import tables
from fadoctor.report.plan_answer import answer_text, left_over
from fadoctor.report.plan_text import command_lines
from fadoctor.report.words import (
    becomes_text,
    counted,
    frameworks_here,
    rules_text,
    setting_text,
    use_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.report import Summary
    from fadoctor.model.smoke import SmokeReport

_SIGNS = {State.WORKS: "✓", State.FAILS: "✗", State.UNKNOWN: "?"}


def render(what: Report | SmokeReport | Explanation | Plan) -> str:
    """Return the page as one file with one line end at its end."""
    title = "check" if isinstance(what, Report) else "smoke"
    title = "explain" if isinstance(what, Explanation) else title
    title = "fix" if isinstance(what, Plan) else title
    return document(f"fadoctor {title}", body(what))


def body(what: Report | SmokeReport | Explanation | Plan) -> list[Html]:
    """Return what stands on the page, without its frame."""
    if isinstance(what, Report):
        return list(_report(what))
    if isinstance(what, Explanation):
        return list(_explanation(what))
    if isinstance(what, Plan):
        return list(_plan(what))
    return list(_smoke(what))


def _report(report: Report) -> Iterator[Html]:
    yield tag("h1", "Does FlashAttention work here?")
    yield from (_answer(answer.state, answer.sentence) for answer in answers_of(report))
    if blame := blame_text(report):
        yield tag("p", blame)
    yield from (tag("p", text) for text in not_said(report))
    yield from _advice(report)
    if report.findings:
        yield tag("h2", f"What is wrong: {_summary(report.summary)}")
    yield from map(article, report.findings)
    yield tag("h2", "What works on which GPU")
    yield from tables(report.verdicts)
    yield tag("h2", "What was read")
    yield tag("p", f"{report.target.label} ({report.target.reason})")
    yield from (tag("p", f"Assumed: {overlay}") for overlay in report.overlays)
    yield listed(environment_lines(report.environment))
    if report.unknown:
        undecided = [f"{each.rule_id}: {each.reason}" for each in report.unknown]
        yield folded(f"Could not be decided: {len(undecided)}", listed(undecided))
    yield from _end(report)


def _advice(report: Report) -> Iterator[Html]:
    advice = report.recommendation
    if advice is None:
        return
    yield tag("h2", use_text(advice.dtype, advice.backend, report.environment))
    for name in frameworks_here(advice, report.environment):
        settings = advice.settings[name]
        note = settings.get("note", "")
        typed = {key: value for key, value in settings.items() if key != "note"}
        yield tag("p", f"{name}: {note}" if note else name, class_="quiet")
        yield command(setting_text(name, typed)) if typed else Html()
    if taken := becomes_text(advice, report.environment):
        yield tag("p", taken, class_="quiet")
    yield tag("p", advice.why)


def _explanation(report: Explanation) -> Iterator[Html]:
    yield tag("h1", f"What went wrong in {report.log.name}")
    if report.findings:
        yield _answer(State.FAILS, report.findings[0].message)
    else:
        yield _answer(State.UNKNOWN, silence_of(report))
    yield from map(article, report.findings)
    if report.plan is not None:
        yield tag("h2", "What repairs this environment")
        yield from _steps(report.plan)
    yield from _end(report)


def _smoke(report: SmokeReport) -> Iterator[Html]:
    total = report.summary
    state = State.FAILS if total.failed else State.WORKS if total.passed else State.UNKNOWN
    yield tag("h1", "What ran, forward and backward")
    where = "on a GPU" if report.gpu_tested else "no GPU was tested"
    counts = f"{total.passed} passed, {total.failed} failed, {total.refused} refused"
    yield _answer(state, f"{counts}, {total.not_run} not run; {where}.")
    yield from map(article, report.findings)
    words = ("device", "backend", "dtype", "case", "result", "detail")
    head = tag("tr", *(tag("th", word, scope="col") for word in words))
    looks = {"passed": "works", "failed": "fails"}
    rows = [
        tag(
            "tr",
            *(tag("td", text) for text in (each.device, each.backend.value, each.dtype.value)),
            tag("td", each.case),
            tag("td", each.measured.value.replace("_", " "),
                class_=looks.get(each.measured.value, "unknown")),
            tag("td", each.detail),
        )
        for each in report.cells
    ]  # fmt: skip
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    yield tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Cells")
    yield from _end(report)


def _plan(plan: Plan) -> Iterator[Html]:
    yield tag("h1", "What to change")
    yield _answer(State.WORKS if plan.proof.clean else State.UNKNOWN, answer_text(plan))
    if plan.changes:
        yield listed(map(change_text, plan.changes))
    yield from _steps(plan)
    for words, items in left_over(plan.proof).items():
        yield tag("p", f"{words}:")
        yield listed(items)
    for conflict in plan.conflicts:
        yield tag("p", f"Impossible: {conflict_text(conflict)}.")
        if conflict.alternatives:
            yield tag("p", "What would help:")
            yield listed(map(alternative_text, conflict.alternatives))
    yield tag("h2", "What was read")
    yield tag("p", f"{plan.target.label} ({plan.target.reason})")
    yield from (tag("p", f"Assumed: {overlay}") for overlay in plan.assumed)
    yield from (tag("p", note) for note in plan.notes)


def _steps(plan: Plan) -> Iterator[Html]:
    for edit in plan.edits:
        yield quoted(edit.diff.splitlines()) if edit.diff else Html()
        yield tag("p", edit.text) if edit.text else Html()
        yield command(" ".join(edit.command)) if edit.command else Html()
    for action in plan.actions:
        yield tag("p", tag("strong", action.text))
        lines = () if plan.edits else command_lines(action, windows=plan.windows)
        yield command("\n".join(lines)) if lines else Html()
        undo = "" if plan.edits else action.undo
        yield tag("p", f"Undo: {undo}", class_="quiet") if undo else Html()


def _answer(state: State, sentence: str) -> Html:
    sign = tag("strong", f"{_SIGNS[state]} ")
    return tag("p", sign, sentence, class_=f"answer {state.value}", role="status")


def _summary(total: Summary) -> str:
    return (
        f"{counted(total.error, 'error')}, {counted(total.warning, 'warning')}, "
        f"{counted(total.note, 'note')}"
    )


def _end(report: Report | SmokeReport | Explanation) -> Iterator[Html]:
    yield from (
        tag("p", f"rule {each.rule_id} broke: {each.reason}") for each in report.rule_errors
    )
    yield from (tag("p", note) for note in report.notes)
    by = f"fadoctor {report.fadoctor}, rules {rules_text(report.rules)}"
    yield tag("p", by, class_="quiet")
