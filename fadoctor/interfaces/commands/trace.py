"""What ``trace`` does: run a command, and say which attention ran. Imports late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.trace import TraceReport
    from fadoctor.processes.live import LiveRun

EAGER = "torch.compile was off (--eager): speed and rounding differ from a run."
"""The note of a report on a command that ran without torch.compile."""


class TraceRequest(NamedTuple):
    """Which command is traced, and how far."""

    command: tuple[str, ...]
    calls: int = 256
    """Attention calls to record."""
    eager: bool = False
    """Without torch.compile."""
    rules: tuple[Path, ...] = ()


class TraceResult(NamedTuple):
    """What came of it."""

    run: LiveRun
    report: TraceReport | None
    """None where the command did not start."""


def trace(request: TraceRequest) -> TraceResult:
    """Run a command unchanged, its output passed on, and report its attention."""
    from fadoctor.knowledge.matrix.load import load_knowledge
    from fadoctor.proof.trace.join import build_report
    from fadoctor.proof.trace.parent import run_traced, trace_folder
    from fadoctor.proof.trace.settings import TraceSettings, config_of, write_config

    knowledge = load_knowledge(request.rules)
    settings = TraceSettings(request.calls, request.eager)
    with trace_folder() as folder:
        write_config(config_of(settings, knowledge), folder)
        traced = run_traced(request.command, folder, eager=request.eager)
    if traced.run.problem:
        return TraceResult(traced.run, None)
    notes = (*traced.problems, EAGER) if request.eager else traced.problems
    report = build_report(request.command, traced.run.code, traced.processes, knowledge, notes)
    return TraceResult(traced.run, report)
