"""Join what a smoke run measured with what the facts predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity, Undecided
from fadoctor.model.smoke import CPU, NO_DEVICE, CellFailure, SmokeCell, SmokeRun
from fadoctor.model.smoke_catalogue import EDGES, PREDICTED, untried, word_of
from fadoctor.model.verdict import Measured, Predicted, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.knowledge.matrix.kernels import Gpu
    from fadoctor.model.finding import Finding
    from fadoctor.model.smoke import ImportProof
    from fadoctor.model.verdict import Backend, Dtype

ANY_DEVICE = "any device"
"""Row of a failure before torch could name a device: it ends every backend on every GPU."""

INCOMPLETE = "smoke-run-incomplete"
"""The rule that explains it."""

NO_GPU_TESTED = "NO GPU WAS TESTED"

_WEIGHT = (Measured.FAILED, Measured.PASSED, Measured.REFUSED)
"""What counts of several cases, first to last: one that declines takes nothing from another."""


def join_measurements(
    verdicts: tuple[Verdict, ...],
    smoke: SmokeRun,
    gpus: list[Gpu],
    version_of: Callable[[Backend], str],
) -> tuple[Verdict, ...]:
    """Return the verdicts with what was measured.

    A CPU's cells become rows of their own: they never set the measurement of a GPU's row. Cells
    whose tensors have the wrong dtypes on purpose say nothing of a backend, and one of an unusual
    shape that fails is named beside a row that has passed.
    """
    found = list(verdicts)
    for (label, backend, dtype), cells in _by_row(smoke, gpus).items():
        cell = _that_counts(cells)
        places = [i for i, row in enumerate(found) if _is_about(row, label, backend, dtype)]
        for place in places:
            detail = _detail(cell) or found[place].detail
            found[place] = msgspec.structs.replace(
                found[place], measured=cell.measured, detail=detail
            )
        if not places:
            found.append(_row(cell, label, version_of(backend)))
    return tuple(found)


def with_predictions(smoke: SmokeRun, verdicts: tuple[Verdict, ...], gpus: list[Gpu]) -> SmokeRun:
    """Return the run with each cell's prediction beside it.

    A backend that declines what it was predicted to do has no expected reason: it has failed. Of
    shapes near a documented limit nothing was predicted.
    """
    cells = []
    for cell in smoke.cells:
        label = _label(cell, gpus)
        row = next((v for v in verdicts if _is_about(v, label, cell.backend, cell.dtype)), None)
        if row is not None and not cell.trap:
            declined = cell.measured is Measured.REFUSED and cell.case in PREDICTED
            unexpected = declined and row.predicted is Predicted.WORKS
            cell = msgspec.structs.replace(  # noqa: PLW2901
                cell,
                predicted=row.predicted,
                because=row.because,
                measured=Measured.FAILED if unexpected else cell.measured,
                failure=CellFailure.EXCEPTION if unexpected else cell.failure,
            )
        cells.append(cell)
    return msgspec.structs.replace(smoke, cells=tuple(cells))


IMPORT_RULES = frozenset({"requirement-missing", "requirement-unmet", "imported-name-missing"})
"""Rules whose errors foretell that their subject cannot be imported."""


def with_foreseen(smoke: SmokeRun, findings: Iterable[Finding]) -> SmokeRun:
    """Return the run, each import with the rules that foretold trouble with it."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    told = {name for each in errors for name in (each.rule_id, *each.consequences)}
    proofs = []
    for proof in smoke.imports:
        ids = {each.rule_id for each in errors if each.subject == proof.distribution}
        ids |= {proof.rule_id} & told
        proofs.append(msgspec.structs.replace(proof, foreseen=tuple(sorted(ids))))
    return msgspec.structs.replace(smoke, imports=tuple(proofs))


def import_disagreements(smoke: SmokeRun) -> Iterator[tuple[str, ImportProof]]:
    """Yield the imports that came out otherwise than foretold, by how."""
    for proof in smoke.imports:
        if proof.measured is Measured.PASSED and not IMPORT_RULES.isdisjoint(proof.foreseen):
            yield "foretold to fail, imported", proof
        elif proof.measured is Measured.FAILED and not proof.foreseen:
            yield "nothing foretold, import failed", proof


def disagreements(smoke: SmokeRun) -> dict[str, list[SmokeCell]]:
    """Return the cells that came out otherwise than predicted, by how: ``predicted works, ...``."""
    contrary = {Predicted.WORKS: Measured.FAILED, Predicted.FAILS: Measured.PASSED}
    found: dict[str, list[SmokeCell]] = {}
    for cell in smoke.cells:
        if contrary.get(cell.predicted) is cell.measured:
            how = f"predicted {cell.predicted.value}, measured {cell.measured.value}"
            found.setdefault(how, []).append(cell)
    return found


def doomed(verdicts: tuple[Verdict, ...]) -> dict[tuple[Backend, Dtype], str]:
    """Return what is predicted to fail on every GPU, and why: it need not be run."""
    rows: dict[tuple[Backend, Dtype], list[Verdict]] = {}
    for verdict in verdicts:
        rows.setdefault((verdict.backend, verdict.dtype), []).append(verdict)
    return {
        key: "predicted to fail, so not run without --thorough: " + _reason(mine[0])
        for key, mine in rows.items()
        if all(verdict.predicted is Predicted.FAILS for verdict in mine)
    }


def _reason(verdict: Verdict) -> str:
    """Return the rules that decide a cell, and what the tables say beside."""
    ids = ", ".join(verdict.because)
    return f"{ids} ({verdict.detail})" if ids and verdict.detail else ids or verdict.detail


def unmeasured(smoke: SmokeRun | None) -> tuple[Undecided, ...]:
    """Return what a run leaves open that could not begin, or not end, for reasons of its own."""
    if smoke is None or not smoke.unable:
        return ()
    reason = f"the smoke run was not carried out: {smoke.problem or 'the reason is not known'}"
    return (Undecided(INCOMPLETE, (), reason, "smoke run"),)


def notes(smoke: SmokeRun | None) -> tuple[str, ...]:
    """Return what the report must say about the run itself."""
    if smoke is None:
        return ()
    texts = (smoke.problem, smoke.cuda_note, *smoke.remarks)
    said = [f"smoke: {text}" for text in texts if text]
    return tuple(said) if smoke.gpu_tested else (*said, NO_GPU_TESTED)


def has_failure(verdicts: tuple[Verdict, ...]) -> bool:
    """Return whether any cell that was run came out wrong."""
    return any(verdict.measured is Measured.FAILED for verdict in verdicts)


def what_was_not_tried(smoke: SmokeRun) -> tuple[str, ...]:
    """Return a note on what the cells that passed say nothing of; none where nothing passed."""
    passed = [cell for cell in smoke.cells if cell.measured is Measured.PASSED]
    tries = {cell.case for cell in passed} | {note for cell in passed for note in cell.notes}
    missing = untried(tries) if passed else ()
    return (f"not tried: {', '.join(missing)}",) if missing else ()


def _by_row(smoke: SmokeRun, gpus: list[Gpu]) -> dict[tuple[str, Backend, Dtype], list[SmokeCell]]:
    """Return the cells that were run by the row of the table that they belong to."""
    rows: dict[tuple[str, Backend, Dtype], list[SmokeCell]] = {}
    for cell in smoke.cells:
        if cell.measured is not Measured.NOT_RUN and not cell.trap:
            rows.setdefault((_label(cell, gpus), cell.backend, cell.dtype), []).append(cell)
    return rows


def _that_counts(cells: list[SmokeCell]) -> SmokeCell:
    """Return the cell that a row is measured by, with the unusual shapes that failed beside it."""
    usual = [cell for cell in cells if cell.case not in EDGES] or cells
    cell = min(usual, key=lambda each: _WEIGHT.index(each.measured))
    if cell.measured is Measured.FAILED:
        return cell
    failed = [word_of(each.case) for each in cells if each.measured is Measured.FAILED]
    if not failed:
        return cell
    said = f"fails with {', '.join(failed)}"
    detail = f"{cell.detail}; {said}" if cell.detail else said
    return msgspec.structs.replace(cell, detail=detail)


def _label(cell: SmokeCell, gpus: list[Gpu]) -> str:
    """Return the row's name.

    ``cuda:N`` is the N-th visible GPU, if it has the name and the capability that torch gives; else
    the only one that has. CUDA may count in another order than NVML.
    """
    if cell.device in (CPU, NO_DEVICE):
        return CPU if cell.device == CPU else ANY_DEVICE
    kind, _, ordinal = cell.device.partition(":")
    index = int(ordinal) if ordinal.isdecimal() else -1
    fitting = [gpu for gpu in gpus if _fits(gpu, cell)] if kind == "cuda" else []
    fitting = [gpu for gpu in fitting if _name(gpu) == cell.device_name] or fitting
    if 0 <= index < len(gpus) and gpus[index] in fitting:
        return gpus[index].label
    only_one = len(fitting) == 1 and 0 <= index < len(gpus)
    return fitting[0].label if only_one else f"{cell.device} {cell.device_name}"


def _name(gpu: Gpu) -> str:
    return gpu.label.removeprefix(f"{gpu.subject} ")


def _fits(gpu: Gpu, cell: SmokeCell) -> bool:
    """Return whether a GPU can be the one that torch describes."""
    known = gpu.capability.value if isinstance(gpu.capability, Known) else ""
    return not known or not cell.compute_capability or known == cell.compute_capability


def _is_about(verdict: Verdict, label: str, backend: Backend, dtype: Dtype) -> bool:
    return (verdict.gpu, verdict.backend, verdict.dtype) == (label, backend, dtype)


def _row(cell: SmokeCell, label: str, version: str) -> Verdict:
    """Return a row that nothing was predicted for."""
    unknown = Predicted.UNKNOWN
    return Verdict(
        label, cell.backend, version, cell.dtype, unknown, (), cell.measured, _detail(cell)
    )


def _detail(cell: SmokeCell) -> str:
    return "; ".join(part for part in (cell.detail, *cell.notes) if part)
