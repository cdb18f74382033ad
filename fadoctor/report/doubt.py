"""What keeps a cell from a decision, and a report from a recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import DRIVER_NOT_GIVEN, OTHER_PLATFORM, UNCHECKED, UNSAID
from fadoctor.model.fact import Known, Unknown, printable
from fadoctor.model.finding import Severity
from fadoctor.model.verdict import Backend, Predicted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.model.finding import Finding
    from fadoctor.model.report import Report
    from fadoctor.model.verdict import Verdict

_REASON_LIMIT = 120

_WAITS = {
    DRIVER_NOT_GIVEN: "add --driver to know whether it runs",
    OTHER_PLATFORM: "driver, Python and system decide whether it runs",
    UNSAID: "the text does not show whether it loads",
}
"""Why a cell is open that nothing is known to be wrong with, and what would decide it."""


def doubt_of(report: Report, verdicts: Sequence[Verdict]) -> Finding | None:
    """Return the error or warning that keeps each open cell from a decision; None without one."""
    open_ = [set(each.because) for each in _open(verdicts)]
    loud = (each for each in report.findings if each.severity is not Severity.NOTE)
    for each in loud if open_ else ():
        if all({each.rule_id, *each.consequences} & because for because in open_):
            return each
    return None


def lacks_driver(verdicts: Sequence[Verdict]) -> bool:
    """Return whether every open cell waits for the driver of an assumed GPU."""
    open_ = _open(verdicts)
    return bool(open_) and all(DRIVER_NOT_GIVEN in each.detail for each in open_)


def is_unchecked(verdicts: Sequence[Verdict]) -> bool:
    """Return whether cells are those of a first answer, about today's releases alone."""
    return any(each.detail == UNCHECKED for each in verdicts)


def waits_for(report: Report, verdicts: Sequence[Verdict]) -> str:
    """Return what decides open cells of a GPU that is supported; "" where that is not all."""
    open_ = _open(verdicts)
    gpu = next((each.gpu.partition(" ")[0] for each in open_), "")
    if not isinstance(report.environment.get(f"{gpu}.compute_capability"), Known):
        return ""
    said = (words for reason, words in _WAITS.items() if all(reason in e.detail for e in open_))
    return next(said, "")


def only_reason(verdicts: Sequence[Verdict]) -> str:
    """Return after a colon the one reason of cells that no rule decides; "" where a rule does."""
    details = {each.detail for each in verdicts if each.detail}
    if len(details) != 1 or any(each.because for each in verdicts):
        return ""
    return f": {printable(details.pop(), _REASON_LIMIT).rstrip('.')}"


def why_no_advice(report: Report) -> str:
    """Return why nothing is recommended for the GPUs of a table."""
    of_torch = [each for each in report.verdicts if each.backend is Backend.SDPA_MATH]
    if is_unchecked(report.verdicts):
        return f"No recommendation yet: {UNCHECKED}."
    is_wrong = any(each.severity is not Severity.NOTE for each in report.findings)
    if of_torch and all(each.outcome is Predicted.FAILS for each in report.verdicts) and is_wrong:
        return "Nothing works yet: first repair what is wrong below."
    if is_wrong:
        return "No recommendation yet: first repair what is wrong below."
    torch = report.environment.get("torch.version")
    if isinstance(torch, Unknown):
        reason = printable(torch.reason, _REASON_LIMIT)
        return f"No recommendation: the release of torch is unknown ({reason})."
    return "No recommendation: no attention is known to work on this GPU."


def about_gpus(report: Report) -> list[Finding]:
    """Return the findings that say why no GPU is seen."""
    return [
        each
        for each in report.findings
        if any(part.fact.startswith(("gpu.", "driver.")) for part in each.evidence)
    ]


def _open(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [each for each in verdicts if each.outcome is Predicted.UNKNOWN]
