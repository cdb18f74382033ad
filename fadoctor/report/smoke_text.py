"""Text of a smoke run: a table of cells for each device, then reasons, root causes and the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.smoke import CPU, NO_DEVICE, ImportProof, SmokeCell, SmokeReport
from fadoctor.model.verdict import Backend, Measured, Predicted
from fadoctor.report.paper import Paper
from fadoctor.report.smoke_answer import (
    NO_PROOF,
    answer_of,
    colour_of,
    one_line,
    proved_nothing,
    sign_of,
    sum_of,
)
from fadoctor.report.words import rules_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.model.verdict import Dtype
    from fadoctor.report.style import Style

_SHADES = {
    Measured.PASSED: "green",
    Measured.REFUSED: "yellow",
    Measured.FAILED: "bold red",
    Measured.NOT_RUN: "dim",
}
_MEGA = 1 << 20

_Beside = SmokeCell | None
"""The cell of SDPA's plain form in the same dtype and case."""

_MANY = 12
"""Cells from which on one line says more than as many rows."""

_INDENT = 2
_GAP = 2


def render(report: SmokeReport, style: Style) -> str:
    """Return the report as text. The words alone carry the meaning; colour only repeats it."""
    page = _Page(style)
    if style.quiet:
        page.whole(one_line(page, report))
        return page.text()
    page.answer(report)
    target = report.target
    page.line(f"Environment: {target.label} ({target.reason})", "bold")
    if report.torch_version:
        page.line(f"torch {report.torch_version}", indent=2)
    page.line("")
    for device in dict.fromkeys(cell.device for cell in report.cells):
        page.device([cell for cell in report.cells if cell.device == device])
    page.imports(report.imports)
    for finding in report.findings:
        page.finding(finding, [finding.subject])
    page.closing(report)
    return page.text()


class _Page(Paper):
    """The report of ``smoke``."""

    def answer(self, report: SmokeReport) -> None:
        """Say first how many cells passed where, and which failed."""
        self.line(f"{self.mark(sign_of(report))} {answer_of(report)}", colour_of(report), hang=2)
        self.line("")

    def device(self, cells: list[SmokeCell]) -> None:
        """Print the cells of one device: those that ran in a table, the others by reason."""
        first = cells[0]
        ran = [cell for cell in cells if cell.measured is not Measured.NOT_RUN]
        self.line(_device(first), "bold")
        if _share_a_fate(ran):
            self.fate(ran)
        elif ran:
            self.table(ran)
            self.reasons(ran)
        self.remarks(ran)
        self.not_run(cells)
        self.line("")

    def table(self, cells: list[SmokeCell]) -> None:
        """Print what fits of the columns; the least important ones stand last."""
        plain = {
            (cell.dtype, cell.case): cell for cell in cells if cell.backend is Backend.SDPA_MATH
        }
        titles = [title for title in _COLUMNS if _is_filled(title, cells, plain)]
        while titles:
            rows = [[(title, "") for title in titles]]
            rows += [[_cell(title, cell, plain) for title in titles] for cell in cells]
            widths = [max(len(row[i][0]) for row in rows) for i in range(len(titles))]
            if _INDENT + sum(widths) + _GAP * (len(titles) - 1) <= self.style.width:
                break
            if len(titles) <= _LEAST:
                break
            titles.pop()
        self.columns(rows)

    def reasons(self, cells: Iterable[SmokeCell]) -> None:
        """Say once each why cells failed, were refused or not run, with the cells it is true of."""
        said: dict[tuple[Measured, str, str], list[SmokeCell]] = {}
        for cell in cells:
            if cell.measured is not Measured.PASSED or self.style.verbose:
                said.setdefault((cell.measured, cell.detail, cell.rule_id), []).append(cell)
        for (measured, detail, rule_id), alike in said.items():
            word = measured.value.replace("_", " ")
            rule = f" ({rule_id})" if rule_id else ""
            colour = _SHADES[measured] if measured is Measured.FAILED else "dim"
            self.line(f"{word}: {_names(alike)}: {detail}{rule}", colour, indent=2, hang=2)

    def fate(self, cells: list[SmokeCell]) -> None:
        """Say once what became of all cells: torch cannot be imported, or not run there."""
        first = cells[0]
        rule = f" ({first.rule_id})" if first.rule_id else ""
        backends = ", ".join(dict.fromkeys(cell.backend.value for cell in cells))
        text = f"{first.measured.value}, all {len(cells)} cells: {first.detail}{rule}"
        self.line(text, _SHADES[first.measured], indent=2, hang=2)
        self.line(f"backends: {backends}", "dim", indent=2, hang=2)

    def remarks(self, cells: Iterable[SmokeCell]) -> None:
        """Say once each how cells were run, where that was not the usual way."""
        said: dict[str, list[SmokeCell]] = {}
        for cell in cells:
            for note in cell.notes:
                said.setdefault(note, []).append(cell)
        for note, alike in said.items():
            self.line(f"note: {_names(alike)}: {note}", "dim", indent=2, hang=2)

    def not_run(self, cells: list[SmokeCell]) -> None:
        """Say why cells were not run; a backend of which none was is named without its cells."""
        idle = [cell for cell in cells if cell.measured is Measured.NOT_RUN]
        busy = {cell.backend for cell in cells if cell.measured is not Measured.NOT_RUN}
        wholly: dict[str, dict[str, None]] = {}
        for cell in idle:
            if cell.backend not in busy:
                wholly.setdefault(cell.detail, {})[cell.backend.value] = None
        for reason, names in wholly.items():
            self.line(f"not run: {', '.join(names)}: {reason}", "dim", indent=2, hang=2)
        self.reasons([cell for cell in idle if cell.backend in busy])

    def imports(self, proofs: tuple[ImportProof, ...]) -> None:
        """Print what became of each module that was imported."""
        if not proofs:
            return
        self.line("Imports, each in a process of its own", "bold")
        for each in proofs:
            word = each.measured.value.replace("_", " ")
            rule = f" ({each.rule_id})" if each.rule_id else ""
            text = f"{word}: {each.distribution} {each.version}: {each.detail}{rule}"
            self.line(printable(text, 800), _SHADES[each.measured], indent=2, hang=2)
        self.line("")

    def closing(self, report: SmokeReport) -> None:
        """Print what must be said about the run, and how many cells came out how."""
        for error in report.rule_errors:
            self.line(f"rule {error.rule_id} broke: {error.reason}", "bold red")
        for note in report.notes:
            self.line(note, "bold")
        if proved_nothing(report):
            self.line(NO_PROOF, "bold")
        self.line(f"{sum_of(report)} Rules {rules_text(report.rules)}, fadoctor {report.fadoctor}.")


def _share_a_fate(cells: list[SmokeCell]) -> bool:
    """Tell whether all cells failed for one reason, so that a table would only repeat it."""
    fates = {(cell.measured, cell.detail, cell.rule_id) for cell in cells}
    return len(cells) >= _MANY and len(fates) == 1 and cells[0].measured is Measured.FAILED


def _device(cell: SmokeCell) -> str:
    """Return ``cuda:0 NVIDIA A100, compute capability 8.0``."""
    if cell.device == NO_DEVICE:
        return "Nothing was run on any device"
    name = "" if cell.device == cell.device_name else f" {cell.device_name}"
    if cell.compute_capability:
        return f"{cell.device}{name}, compute capability {cell.compute_capability}"
    return (
        f"{cell.device_name or cell.device}, no GPU" if cell.device == CPU else cell.device + name
    )


def _names(cells: list[SmokeCell]) -> str:
    """Return ``fa2 bf16/fp16 full/causal``: cells that share a reason, in short."""
    by_backend: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for cell in cells:
        dtypes, cases = by_backend.setdefault(cell.backend.value, ({}, {}))
        dtypes[cell.dtype.value] = None
        cases[cell.case] = None
    return ", ".join(
        f"{name} {'/'.join(dtypes)} {'/'.join(cases)}"
        for name, (dtypes, cases) in by_backend.items()
    )


def _cell(
    title: str, cell: SmokeCell, plain: Mapping[tuple[Dtype, str], SmokeCell]
) -> tuple[str, str]:
    """Return the words of a cell, and their colour."""
    beside = plain.get((cell.dtype, cell.case))
    text = _COLUMNS[title](cell, beside if beside is not cell else None)
    return printable(text, 40), _SHADES[cell.measured] if title == "result" else ""


def _is_filled(
    title: str, cells: list[SmokeCell], plain: Mapping[tuple[Dtype, str], SmokeCell]
) -> bool:
    return any(_cell(title, cell, plain)[0] for cell in cells)


def _gradients(cell: SmokeCell, _beside: _Beside) -> str:
    found = [error for name, error in cell.errors.items() if name.startswith("d")]
    return f"{max(found):.1e}" if found else ""


def _error_ratio(cell: SmokeCell, beside: _Beside) -> str:
    if beside is None or not beside.errors.get("out") or "out" not in cell.errors:
        return ""
    return f"x{cell.errors['out'] / beside.errors['out']:.1f}"


def _speed_ratio(cell: SmokeCell, beside: _Beside) -> str:
    """Return how many times as fast as the plain form a cell is, forward and backward together."""
    if beside is None or cell.speed is None or beside.speed is None:
        return ""
    mine, other = (s.forward_ms + (s.backward_ms or 0) for s in (cell.speed, beside.speed))
    same = (cell.speed.backward_ms is None) == (beside.speed.backward_ms is None)
    return f"x{other / mine:.1f}" if same and mine > 0 else ""


def _speed(cell: SmokeCell, name: str, form: str, unit: float = 1.0) -> str:
    value = getattr(cell.speed, name, None)
    return "" if value is None else format(value / unit, form)


def _out(cell: SmokeCell, _beside: _Beside) -> str:
    return f"{cell.errors['out']:.1e}" if "out" in cell.errors else ""


def _predicted(cell: SmokeCell, _beside: _Beside) -> str:
    return "" if cell.predicted is Predicted.UNKNOWN else cell.predicted.value


_COLUMNS: dict[str, Callable[[SmokeCell, _Beside], str]] = {
    "backend": lambda cell, _: cell.backend.value,
    "dtype": lambda cell, _: cell.dtype.value,
    "case": lambda cell, _: cell.case,
    "predicted": _predicted,
    "result": lambda cell, _: cell.measured.value,
    "out err": _out,
    "grad err": _gradients,
    "fwd ms": lambda cell, _: _speed(cell, "forward_ms", ".2f"),
    "bwd ms": lambda cell, _: _speed(cell, "backward_ms", ".2f"),
    "speed/math": _speed_ratio,
    "err/math": _error_ratio,
    "TFLOP/s": lambda cell, _: _speed(cell, "forward_tflops", ".3g"),
    "peak MiB": lambda cell, _: _speed(cell, "peak_memory_bytes", ".0f", _MEGA),
}
"""Title -> text of a cell, given the plain form's cell beside it."""

_LEAST = 5
"""Columns that are shown however narrow the terminal is."""
