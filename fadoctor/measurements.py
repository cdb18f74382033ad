"""Join what a smoke run measured with what the facts predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.verdict import Measured, Predicted, Verdict
from fadoctor.smoke.cells import NO_DEVICE, SmokeCell, SmokeRun

if TYPE_CHECKING:
    from fadoctor.kernels import Gpu

CPU = "cpu"
ANY_DEVICE = "any device"
"""Row of a failure before torch could name a device: it ends every backend on every GPU."""

NO_GPU_TESTED = "NO GPU WAS TESTED"


def join_measurements(
    verdicts: tuple[Verdict, ...], smoke: SmokeRun, gpus: list[Gpu]
) -> tuple[Verdict, ...]:
    """Return the verdicts with what was measured.

    A CPU's cells become rows of their own: they never set the measurement of a GPU's row.
    """
    found = list(verdicts)
    for cell in smoke.cells:
        if cell.measured is Measured.NOT_RUN:
            continue
        label = _label(cell, gpus)
        rows = [i for i, verdict in enumerate(found) if _is_about(verdict, label, cell)]
        for index in rows:
            detail = cell.detail or found[index].detail
            found[index] = msgspec.structs.replace(
                found[index], measured=cell.measured, detail=detail
            )
        if not rows:
            found.append(_row(cell, smoke, label))
    return tuple(found)


def notes(smoke: SmokeRun | None) -> tuple[str, ...]:
    """Return what the report must say about the run itself."""
    if smoke is None:
        return ()
    said = [f"smoke: {text}" for text in (smoke.problem, smoke.cuda_note) if text]
    return tuple(said) if smoke.gpu_tested else (*said, NO_GPU_TESTED)


def has_failure(verdicts: tuple[Verdict, ...]) -> bool:
    """Return whether any cell that was run came out wrong."""
    return any(verdict.measured is Measured.FAILED for verdict in verdicts)


def _label(cell: SmokeCell, gpus: list[Gpu]) -> str:
    """Return the row's name.

    ``cuda:N`` is the N-th visible GPU in PCI order, if it has the capability that torch names; else
    the only one that has it.
    """
    if cell.device in (CPU, NO_DEVICE):
        return CPU if cell.device == CPU else ANY_DEVICE
    kind, _, ordinal = cell.device.partition(":")
    index = int(ordinal) if ordinal.isdecimal() else -1
    fitting = [gpu for gpu in gpus if _fits(gpu, cell)] if kind == "cuda" else []
    if 0 <= index < len(gpus) and gpus[index] in fitting:
        return gpus[index].label
    only_one = len(fitting) == 1 and 0 <= index < len(gpus)
    return fitting[0].label if only_one else f"{cell.device} {cell.device_name}"


def _fits(gpu: Gpu, cell: SmokeCell) -> bool:
    """Return whether a GPU can be the one that torch describes."""
    known = gpu.capability.value if isinstance(gpu.capability, Known) else ""
    return not known or not cell.compute_capability or known == cell.compute_capability


def _is_about(verdict: Verdict, label: str, cell: SmokeCell) -> bool:
    return (verdict.gpu, verdict.backend, verdict.dtype) == (label, cell.backend, cell.dtype)


def _row(cell: SmokeCell, smoke: SmokeRun, label: str) -> Verdict:
    """Return a row that nothing was predicted for."""
    version = smoke.torch_version or "unknown"
    unknown = Predicted.UNKNOWN
    return Verdict(
        label, cell.backend, version, cell.dtype, unknown, (), cell.measured, cell.detail
    )
