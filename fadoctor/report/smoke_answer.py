"""What a smoke run has shown: in a sentence, and in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.verdict import Backend, Measured

if TYPE_CHECKING:
    from fadoctor.model.smoke import SmokeReport
    from fadoctor.report.paper import Paper

NO_PROOF = "NOTHING WAS PROVED: no cell passed and none failed"

_NAMED = 4
"""Cells that are named in a sentence."""


def one_line(page: Paper, report: SmokeReport) -> str:
    """Return how many cells came out how and which failed, for ``--quiet``."""
    cells, imports = _failed_cells(report), _failed_imports(report)
    parts = [page.mark(sign_of(report)), sum_of(report)]
    parts += [f"Failed: {', '.join(cells)}."] if cells else []
    parts += [f"Failed to import: {', '.join(imports)}."] if imports else []
    parts += [f"{note}." for note in report.notes]
    return " ".join([*parts, *([f"{NO_PROOF}."] if proved_nothing(report) else [])])


def answer_of(report: SmokeReport) -> str:
    """Return what one wants to know first: what works or fails, and on what."""
    untested = "" if report.gpu_tested else " No GPU was tested."
    return f"{_shown(report)}{untested}"


def _shown(report: SmokeReport) -> str:
    ran = [cell for cell in report.cells if cell.measured is not Measured.NOT_RUN]
    where = ", ".join(dict.fromkeys(cell.device_name or cell.device for cell in ran))
    if failed := _failed_cells(report):
        return f"Attention fails on {where}: {_some(failed)}."
    if failed := _failed_imports(report):
        return f"Packages cannot be imported: {_some(failed)}."
    if report.summary.passed:
        names = dict.fromkeys(c.backend.value for c in ran if c.measured is Measured.PASSED)
        return f"Attention works on {where}: {', '.join(names)}."
    if any(each.measured is Measured.PASSED for each in report.imports):
        return "No attention was run, but the packages can be imported."
    # the plain form asks for nothing but torch: what keeps it back keeps everything back
    plain = [cell.detail for cell in report.cells if cell.backend is Backend.SDPA_MATH]
    reasons = {cell.detail for cell in report.cells}
    why = plain[0] if plain else reasons.pop() if len(reasons) == 1 else ""
    return f"No attention was run{why and f': {why}'}."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _failed_cells(report: SmokeReport) -> list[str]:
    """Return backend and dtype of what failed."""
    failed = [cell for cell in report.cells if cell.measured is Measured.FAILED]
    return list(dict.fromkeys(f"{each.backend.value} {each.dtype.value}" for each in failed))


def _failed_imports(report: SmokeReport) -> list[str]:
    return [each.distribution for each in report.imports if each.measured is Measured.FAILED]


def sign_of(report: SmokeReport) -> tuple[str, str]:
    """Return the mark of the answer, and the one in ASCII."""
    if _failed_cells(report) or _failed_imports(report):
        return "✗", "x"
    return ("✓", "+") if report.summary.passed else ("?", "?")


def colour_of(report: SmokeReport) -> str:
    """Return the colour of the answer."""
    return {"✗": "bold red", "✓": "bold green"}.get(sign_of(report)[0], "bold yellow")


def proved_nothing(report: SmokeReport) -> bool:
    """Return whether nothing came out either way."""
    return not (report.summary.passed or report.summary.failed or report.imports)


def sum_of(report: SmokeReport) -> str:
    """Return how many cells came out how."""
    total = report.summary
    return (
        f"{total.passed} passed, {total.refused} refused, {total.failed} failed, "
        f"{total.not_run} not run."
    )
