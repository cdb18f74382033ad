"""Text for a person about a traced command: what ran, then who made a tensor wide."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.packages import FLASH_ATTN
from fadoctor.report.headline import headline as finding_headline
from fadoctor.report.paper import Paper
from fadoctor.report.words import counted, rules_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.trace import Call, Culprit, TracedProcess, TraceReport
    from fadoctor.report.style import Style

SILENCE = "No attention call was seen."

_SHORT = {"float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "float16": "fp16"}
_WIDTH = 200
_MOST = 12
"""Groups of calls of one process that are shown unless all are wanted."""


def render(report: TraceReport, style: Style) -> str:
    """Return the report as text, the answer first."""
    paper = Paper(style)
    if style.quiet:
        paper.whole(_one_line(report))
        return paper.text()
    ran = [process for process in report.processes if process.calls]
    groups = list(alike(ran))
    if not ran:
        paper.line(SILENCE, "bold")
    for processes, process in groups:
        _calls(paper, processes, process, many=len(groups) > 1)
    for finding in report.findings:
        paper.line("")
        paper.finding(finding, ["environment"], ())
    _remarks(paper, report)
    for note in report.notes:
        paper.line(note)
    if report.rules.origin:
        paper.line(f"Rules {rules_text(report.rules)}.")
    return paper.text()


def _one_line(report: TraceReport) -> str:
    """Return what ran, and how much was found, for ``--quiet``."""
    count: Counter[str] = Counter()
    for process in report.processes:
        for call in process.calls:
            count[f"{call.backend} {_dtypes(call)}"] += call.times
    ran = ", ".join(f"{what} x{number}" for what, number in count.most_common(_MOST))
    titles = [finding_headline(each, message=True) for each in report.findings[:1]]
    more = len(report.findings) - 1
    tail = [f"And {counted(more, 'other finding')}."] if more > 0 else []
    return " ".join([f"{ran}." if ran else SILENCE, *titles, *tail])


def alike(processes: list[TracedProcess]) -> Iterable[tuple[list[TracedProcess], TracedProcess]]:
    """Yield processes that say the same once: ranks do."""
    groups: dict[str, list[TracedProcess]] = {}
    for process in processes:
        groups.setdefault(repr([_what(call) for call in process.calls]), []).append(process)
    for group in groups.values():
        yield group, group[0]


def _what(call: Call) -> tuple[str | None, str, str, str]:
    return call.module, call.backend, _dtypes(call), call.error or ""


def _calls(
    paper: Paper, processes: list[TracedProcess], process: TracedProcess, *, many: bool
) -> None:
    if many or len(processes) > 1:
        paper.line(names_of(processes), "bold")
    groups = groups_of(process)
    shown = groups if paper.style.verbose else groups[:_MOST]
    for calls in shown:
        _group(paper, calls, alone=len(groups) == 1)
    if len(shown) < len(groups):
        paper.line(f"{len(groups) - len(shown)} more kinds of calls: --verbose shows them.")


def names_of(processes: list[TracedProcess]) -> str:
    """Return what processes are called that say the same."""
    names = ", ".join(
        f"rank {each.rank}" if each.rank is not None else f"process {each.pid}"
        for each in processes[:16]
    )
    return f"{names[:1].upper()}{names[1:]}:"


def groups_of(process: TracedProcess) -> list[list[Call]]:
    """Return the calls of a process, those of one kind together, in the order they were seen."""
    groups: dict[tuple[str, ...], list[Call]] = {}
    for call in process.calls:
        groups.setdefault(kind_of(call), []).append(call)
    return list(groups.values())


def kind_of(call: Call) -> tuple[str, ...]:
    """Return what makes calls alike: what ran, in which dtypes, and who is to blame."""
    culprits = (f"{letter} {each.file} {each.line}" for letter, each in call.culprits.items())
    error = call.error or ""
    ran = call.entry if call.backend == "unknown" else call.backend
    return (ran, _dtypes(call), call.autocast or "", error, *call.why_not_flash, *culprits)


def _group(paper: Paper, calls: list[Call], *, alone: bool) -> None:
    first = calls[0]
    paper.line(headline(calls, alone=alone), "bold red" if first.error else "bold")
    if first.error:
        paper.line(printable(first.error, _WIDTH), indent=2, hang=2)
    if first.why_not_flash:
        paper.line(f"why not flash: {'; '.join(first.why_not_flash)}", indent=2, hang=2)
    for letters, culprit in culprits_of(first):
        paper.line(told(letters, culprit), "red", indent=2, hang=2)
        if culprit.source:
            paper.line(printable(culprit.source, _WIDTH), indent=6, hang=2)
        if because(culprit):
            paper.line(because(culprit), indent=4, hang=2)


def headline(calls: list[Call], *, alone: bool) -> str:
    """Return what calls of one kind did, in one sentence."""
    first = calls[0]
    modules = list(dict.fromkeys(call.module for call in calls if call.module))
    who = _who(modules, first, alone=alone)
    failed = " and raised an error" if first.error else ""
    verb = "called" if first.error else "ran"
    times = sum(call.times for call in calls)
    dtypes = _dtypes(first)
    inside = ""
    if first.ran_in and _SHORT.get(first.ran_in, first.ran_in) != dtypes:
        inside = f" (autocast made it {_SHORT.get(first.ran_in, first.ran_in)})"
    return f"{who} {verb} {_name(first)} in {dtypes}{inside}{failed}, {counted(times, 'call')}."


def _who(modules: list[str], call: Call, *, alone: bool) -> str:
    if not modules:
        return f"{call.function}() at {call.file}:{call.line}"
    if len(modules) == 1:
        return modules[0]
    ending = Counter(name.rpartition(".")[2] for name in modules).most_common(1)[0][0]
    word = "all " if alone else ""
    return (
        f"{word}{len(modules)} layers ({modules[0]} to {modules[-1]}, {ending})".capitalize()
        if (not alone)
        else f"All {len(modules)} layers"
    )


def _name(call: Call) -> str:
    if call.error:
        return call.entry.rpartition(".")[2]
    if call.backend == "unknown":
        return f"{call.entry.rpartition('.')[2]} (which kernel is not known)"
    names = {"fa2": "flash-attn 2", "fa3": "flash-attn 3", "fa4": "flash-attn 4"}
    return names.get(call.backend, call.backend)


def _dtypes(call: Call) -> str:
    seen = {"q": call.q, "k": call.k, "v": call.v}
    found = {letter: _SHORT.get(t.dtype, t.dtype) for letter, t in seen.items() if t is not None}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return ", ".join(f"{letter} {dtype}" for letter, dtype in found.items()) or "?"


def culprits_of(call: Call) -> Iterable[tuple[str, Culprit]]:
    """Yield the culprits of a call, letters that share one together."""
    groups: dict[Culprit, list[str]] = {}
    for letter, culprit in call.culprits.items():
        groups.setdefault(culprit, []).append(letter)
    for culprit, letters in groups.items():
        yield ", ".join(letters), culprit


_DID = {
    "cast": "cast",
    "promotion": "promoted",
    "float32-from-start": "float32 from the start",
    "other": "made",
}


def told(letters: str, culprit: Culprit) -> str:
    """Return which statement made tensors what they are."""
    module = culprit.module or culprit.module_class or "no module"
    return f"{letters}: {_DID[culprit.kind]} at {culprit.file}:{culprit.line}, in {module}"


def because(culprit: Culprit) -> str:
    """Return what a statement did it because of, and how sure that is; "" for itself alone."""
    if culprit.because.startswith(f"{culprit.op}: ") and culprit.confidence == "high":
        return ""
    sure = "" if culprit.confidence == "high" else f" (confidence {culprit.confidence})"
    return f"because of {culprit.because}{sure}"


def _remarks(paper: Paper, report: TraceReport) -> None:
    for text, look in remarks(report):
        paper.line(text, look, hang=2)


def remarks(report: TraceReport) -> Iterator[tuple[str, str]]:
    """Yield what was not looked at, and its look: other processes, compiled regions, our faults."""
    for process in report.processes:
        if not process.entered:
            name = printable(" ".join(process.argv), 120)
            yield f"Not entered: {name}: {process.reason}.", "yellow"
        if process.compiled:
            regions = ", ".join(process.compiled[:6])
            inside = "attention inside is not seen; --eager looks inside"
            yield f"torch.compile ran {regions}: {inside}.", ""
        for failed in process.failed_imports:
            if process.calls and failed.module.startswith(FLASH_ATTN):
                yield f"import {failed.module} failed: {printable(failed.error, 200)}", ""
        if process.lost:
            yield f"{process.lost} more kinds of calls were not kept.", ""
        if process.faults:
            yield (
                (
                    f"{counted(len(process.faults), 'fault')} of fadoctor's own, in process "
                    f"{process.pid}; the first: {printable(process.faults[0], 200)}"
                ),
                "yellow",
            )
