"""What a pasted text shows by its words, for who reads its facts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.model.finding import Finding, Severity

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def complaints_in(data: bytes, name: str, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Return the errors and warnings that `explain` finds in a text."""
    report = explain(read_log(io.BytesIO(data), name, knowledge), knowledge)
    return tuple(each for each in report.findings if each.severity is not Severity.NOTE)
