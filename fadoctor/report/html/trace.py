"""The page of a traced command: what ran, who made a tensor wide, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.report.html.document import document
from fadoctor.report.html.elements import Html, folded, joined, listed, quoted, tag
from fadoctor.report.html.findings import article
from fadoctor.report.trace_text import (
    SILENCE,
    alike,
    because,
    culprits_of,
    groups_of,
    headline,
    names_of,
    remarks,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.trace import Call, TracedProcess, TraceReport

_MOST = 200
"""Kinds of calls of one process that are shown."""


def render(report: TraceReport) -> str:
    """Return the page as one file; it needs neither network nor script."""
    command = " ".join(report.command)
    ended = tag("p", f"{command} ended with exit code {report.exit_code}.", class_="quiet")
    return document("fadoctor trace", [*_page(report), ended])


def fragment(report: TraceReport) -> str:
    """Return what a notebook shows below a cell."""
    return tag("div", joined(_page(report)))


def _page(report: TraceReport) -> Iterator[Html]:
    yield tag("h1", "Which attention ran, and in what dtype")
    ran = [process for process in report.processes if process.calls]
    yield _answer(report, ran)
    groups = list(alike(ran))
    for processes, process in groups:
        if len(groups) > 1 or len(processes) > 1:
            yield tag("h2", names_of(processes))
        calls = groups_of(process)
        yield from (_group(each, alone=len(calls) == 1) for each in calls[:_MOST])
    if report.findings:
        yield tag("h2", "What is wrong")
    yield from map(article, report.findings)
    notes = [*(text for text, _ in remarks(report)), *report.notes]
    if notes:
        yield tag("h2", "What was not seen")
        yield listed(notes)


def _answer(report: TraceReport, ran: list[TracedProcess]) -> Html:
    if report.findings:
        return tag("p", f"✗ {report.findings[0].message}", class_="answer fails")
    if not ran:
        return tag("p", f"? {SILENCE}", class_="answer unknown")
    well = not any(call.error for process in ran for call in process.calls)
    sentence = "No code widened a tensor on its way to attention."
    return tag(
        "p", f"{'✓' if well else '✗'} {sentence}", class_="answer" if well else "answer fails"
    )


def _group(calls: list[Call], *, alone: bool) -> Html:
    first = calls[0]
    parts = [tag("h3", headline(calls, alone=alone))]
    if first.error:
        parts.append(quoted([first.error]))
    if first.why_not_flash:
        parts.append(tag("p", f"Why not flash: {'; '.join(first.why_not_flash)}"))
    for letters, culprit in culprits_of(first):
        parts.append(tag("p", tag("strong", told(letters, culprit))))
        parts += [quoted([culprit.source])] if culprit.source else []
        parts += [tag("p", because(culprit))] if because(culprit) else []
    parts.append(folded("Each call", listed(map(_line, calls[:_MOST]))))
    return tag("article", *parts)


def _line(call: Call) -> str:
    where = call.module or f"{call.function}() at {call.file}:{call.line}"
    seen = (("q", call.q), ("k", call.k), ("v", call.v))
    tensors = ", ".join(
        f"{letter} {each.dtype} {list(each.shape)} on {each.device}"
        for letter, each in seen
        if each is not None
    )
    autocast = f", autocast {call.autocast}" if call.autocast else ""
    return f"{where}: {call.entry}, {tensors}{autocast}, {call.times} times, {call.backend}"
