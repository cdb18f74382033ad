"""One line beside an error: what is right, so that nobody looks there, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.model.packages import BACKENDS, MAIN, PACKAGES, TORCH
from fadoctor.model.verdict import Backend, Dtype, Predicted
from fadoctor.report.answer import gpus_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.report import Report

_OF_TORCH = (Backend.SDPA_FLASH, Backend.SDPA_EFFICIENT, Backend.SDPA_MATH)

_BROUGHT_BY = {
    Backend(name): PACKAGES[BACKENDS[name]][0] for name in MAIN if BACKENDS[name] != TORCH
}
"""Backend -> the distribution that works where its cells do."""

_HALF = (Dtype.BF16, Dtype.FP16)


def blame_text(report: Report) -> str:
    """Return ``Right: driver, torch. Wrong: flash-attn.``; "" where no error names a package.

    Right is what the table shows to work on each GPU, and nothing that a finding is about.
    """
    wrong = _wrong(report)
    if not wrong:
        return ""
    doubted = {each.subject for each in report.findings}
    right = [name for name in _right(report) if name not in doubted]
    said = [f"Right: {', '.join(right)}."] if right else []
    return " ".join([*said, f"Wrong: {', '.join(wrong)}."])


def _wrong(report: Report) -> list[str]:
    """Return the distributions that errors are about, and torch or driver where they are."""
    names = {name for each in PACKAGES.values() for name in each}
    found: dict[str, None] = {}
    for each in report.findings:
        if each.severity is not Severity.ERROR:
            continue
        first = each.rule_id.partition("-")[0]
        if each.subject in names:
            found[each.subject] = None
        elif each.subject == "environment" and first in ("driver", TORCH):
            found[first] = None
    return list(found)


def _right(report: Report) -> Iterable[str]:
    """Yield what works by the table: the driver and torch, then each package with a backend."""
    gpus = gpus_of(report)
    works = {
        (each.gpu, each.backend)
        for each in report.verdicts
        if each.outcome is Predicted.WORKS and each.dtype in _HALF
    }

    def everywhere(*backends: Backend) -> bool:
        return bool(gpus) and all(any((g, b) in works for b in backends) for g in gpus)

    if everywhere(*_OF_TORCH):
        if isinstance(report.environment.get("driver.version"), Known):
            yield "driver"
        yield TORCH
    yield from dict.fromkeys(name for each, name in _BROUGHT_BY.items() if everywhere(each))
