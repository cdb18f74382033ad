"""Trace a block of code of the own process: the same tracer, without files."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.errors import TargetError, UsageError
from fadoctor.model.fact import printable
from fadoctor.model.trace import Record
from fadoctor.model.typed import convert
from fadoctor.proof.trace.join import build_report
from fadoctor.proof.trace.parent import CHILD, process_of
from fadoctor.proof.trace.settings import TraceSettings, config_of
from fadoctor.syntax.credentials.document import hide_in_document

if TYPE_CHECKING:
    from types import TracebackType

    from fadoctor.model.rule import Knowledge
    from fadoctor.model.trace import TraceReport
    from fadoctor.proof.trace.settings import Config

MOST_CALLS = 100_000
"""As many calls as one trace may record."""


@cache
def _knowledge() -> Knowledge:
    """Return the rules, read once: a test-suite traces many blocks."""
    return load_knowledge()


@lru_cache(maxsize=4)
def _config(calls: int) -> Config:
    return config_of(TraceSettings(calls), _knowledge())


class Trace:
    """Records attention calls between enter and exit. Not to be entered twice at a time."""

    def __init__(self, calls: int) -> None:
        """Take how many calls are recorded; UsageError where that is no number of calls."""
        if type(calls) is not int or not 0 < calls <= MOST_CALLS:
            shown = printable(repr(calls), 40)
            raise UsageError(
                f"trace(calls={shown}): must be a whole number from 1 to {MOST_CALLS:,}"
            )
        self._calls = calls
        self._tracer: Any = None
        self._watch: Any = None
        self._knowledge = _knowledge()

    def __enter__(self) -> Trace:  # noqa: PYI034 -- Self is of Python 3.11
        """Patch torch, and what of attention is imported; TargetError where there is no torch."""
        if "torch" not in sys.modules and find_spec("torch") is None:
            raise TargetError(f"trace needs torch, which {sys.executable} does not have")
        sys.path.insert(0, str(CHILD))
        try:
            watch = import_module("_fadoctor_trace_watch")
            start = import_module("_fadoctor_trace_start")
            record = import_module("_fadoctor_trace_record")
        finally:
            sys.path.remove(str(CHILD))
        config = _config(self._calls)
        self._watch = watch.Watch(str(CHILD), None, config.watched)
        kept = record.Record(None, self._watch, config.variables, config.packages)
        self._tracer = start.Tracer(msgspec.to_builtins(config), kept, self._watch)
        self._watch.tracer = self._tracer
        sys.meta_path.insert(0, self._watch)
        self._tracer.begin(every_thread=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put everything back."""
        sys.meta_path.remove(self._watch)
        self._tracer.end()

    def __repr__(self) -> str:
        """Return its name and how many calls it has seen: `print(t.report())` tells the rest."""
        if self._tracer is None:
            return "<Trace: not begun>"
        count = sum(call.times for each in self.document().processes for call in each.calls)
        return f"<Trace: {count} attention call{'' if count == 1 else 's'}>"

    def document(self) -> TraceReport:
        """Return what was seen, as `fadoctor trace --format json` says it.

        UsageError where the block was never entered.
        """
        if self._tracer is None:
            raise UsageError("the trace has not begun: call the model inside `with trace() as t:`")
        plain = self._tracer.record.document()
        process = process_of(convert(plain, Record))
        report = build_report(tuple(sys.argv), 0, (process,), self._knowledge)
        return hide_in_document(report)

    def __str__(self) -> str:
        """Return the report, or that nothing has begun: `print(t)` is for a person."""
        return repr(self) if self._tracer is None else self.report()

    def report(self) -> str:
        """Return what was seen, as `fadoctor trace` says it."""
        from fadoctor.report.style import Style  # noqa: PLC0415 -- only where it is printed
        from fadoctor.report.trace_text import render  # noqa: PLC0415

        return render(self.document(), Style())

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it, where the block has ended."""
        from fadoctor.report.html.trace import fragment  # noqa: PLC0415 -- only in a notebook

        return fragment(self.document())
