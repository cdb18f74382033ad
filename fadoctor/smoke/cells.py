"""Cells of a smoke run: device x backend x dtype, and what each showed."""

from __future__ import annotations

import msgspec

from fadoctor.model.verdict import Backend, Dtype, Measured

NO_DEVICE = "unknown"
"""Device of cells that no worker came far enough to place: torch names the devices."""


class CellName(msgspec.Struct, frozen=True):
    """Which cell."""

    device: str
    """``cuda:0``, ``cpu`` or `NO_DEVICE`."""
    backend: Backend
    dtype: Dtype

    def __str__(self) -> str:
        """Return ``cuda:0 sdpa-flash fp16``."""
        return f"{self.device} {self.backend.value} {self.dtype.value}"


class Limits(msgspec.Struct, frozen=True):
    """Largest relative Frobenius error against float64 that a healthy kernel may have."""

    out: float
    gradients: float


LIMITS = {
    Dtype.BF16: Limits(8e-3, 1.2e-2),
    Dtype.FP16: Limits(1e-3, 2e-3),
    Dtype.FP32: Limits(1e-5, 1e-5),
}
"""Measured on the kernels of the CPU: the worst healthy run stays below two thirds of these, and a
scale that is off by one percent, the smallest of six injected faults, lies above all of them. The
largest single element is no measure: it is off by 0.1 in a healthy bf16 gradient."""


class Device(msgspec.Struct, frozen=True):
    """One device as torch describes it."""

    device: str
    name: str
    compute_capability: str = ""
    """``9.0``; empty for a CPU and under ROCm."""
    uuid: str = ""
    """Empty where this torch does not tell."""


class SmokeCell(msgspec.Struct, frozen=True):
    """What one cell showed."""

    device: str
    device_name: str
    compute_capability: str
    backend: Backend
    dtype: Dtype
    measured: Measured
    detail: str
    """One line: numbers where it passed, the reason otherwise."""
    uuid: str = ""
    kernel: str = ""
    """Name of autograd's node: the proof of which kernel ran."""
    errors: dict[str, float] = {}
    """out, dq, dk, dv -> relative Frobenius error; what was not finite is left out."""
    forward_ms: float | None = None
    backward_ms: float | None = None
    """Time of one warm run, milliseconds: an impression, no benchmark."""


class SmokeRun(msgspec.Struct, frozen=True):
    """What a smoke run showed."""

    cells: tuple[SmokeCell, ...]
    problem: str
    """Why nothing, or not everything, could be measured; empty where all was."""
    torch_version: str = ""
    cuda_available: bool = False
    cuda_note: str = ""
    """What torch warned of while it looked for GPUs: often why it finds none."""

    @property
    def gpu_tested(self) -> bool:
        """Whether any cell ran on a GPU."""
        return any(
            cell.device not in ("cpu", NO_DEVICE) and cell.measured is not Measured.NOT_RUN
            for cell in self.cells
        )
