"""Smoke runs: cells of device x backend x dtype x case, what each showed, and the report."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.finding import Finding
from fadoctor.model.report import RuleError, RulesInfo
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted

SMOKE_SCHEMA_VERSION = 1

CPU = "cpu"
NO_DEVICE = "unknown"
"""Device of cells that no worker came far enough to place: torch names the devices."""


class CellFailure(enum.Enum):
    """In which way a cell has failed."""

    NONE = "none"
    NUMBERS = "numbers"
    """It computed something else than the reference, or NaN."""
    KERNEL = "kernel"
    """Another kernel ran than the one that was forced."""
    EXCEPTION = "exception"
    SIGNAL = "signal"
    EXIT = "exit"
    """The process ended itself in the middle of a cell, with whatever status."""
    TIMEOUT = "time-out"
    STUCK = "stuck"
    """It does not end even when killed."""


class CellKey(msgspec.Struct, frozen=True):
    """Which cell, whatever the device."""

    backend: Backend
    dtype: Dtype
    case: str
    """``causal``, ``varlen`` and so on; the catalogue names them."""

    def __str__(self) -> str:
        """Return ``sdpa-flash fp16 causal``."""
        return f"{self.backend.value} {self.dtype.value} {self.case}"


class Device(msgspec.Struct, frozen=True):
    """One device as torch describes it."""

    device: str
    """``cuda:0``, ``cpu`` or `NO_DEVICE`."""
    name: str
    compute_capability: str = ""
    """``9.0``; empty for a CPU and under ROCm."""


class Speed(msgspec.Struct, frozen=True):
    """How fast a cell ran, warm. On a GPU of a larger shape than the one that is compared."""

    forward_ms: float
    """Median, milliseconds: by events of the device on a GPU."""
    backward_ms: float | None = None
    forward_tflops: float | None = None
    """10^12 floating-point operations in a second."""
    backward_tflops: float | None = None
    peak_memory_bytes: int | None = None
    """Most memory that torch had allocated; GPUs only."""


class SmokeCell(msgspec.Struct, frozen=True):
    """What one cell showed."""

    device: str
    device_name: str
    compute_capability: str
    backend: Backend
    dtype: Dtype
    case: str
    measured: Measured
    detail: str
    """One line: numbers where it passed, the reason otherwise."""
    failure: CellFailure = CellFailure.NONE
    trap: bool = False
    """Whether tensors had the wrong dtypes on purpose: says nothing of the backend's health."""
    rule_id: str = ""
    """The root cause whose symptoms show; empty where none is known."""
    phase: str = ""
    """What went on last: import, inputs, forward, backward, comparison, timing."""
    kernel: str = ""
    """Name of autograd's node: the proof of which kernel ran."""
    errors: dict[str, float] = {}
    """Tensor -> relative Frobenius error against float64; what was not finite is left out."""
    notes: tuple[str, ...] = ()
    """Sentences about how it was run: what was mended, that it was not timed."""
    speed: Speed | None = None
    predicted: Predicted = Predicted.UNKNOWN
    because: tuple[str, ...] = ()
    """Ids of the rules behind a prediction other than works."""
    message: str = ""
    """What was raised or printed, as the symptoms of rules were looked for in it."""

    @property
    def key(self) -> CellKey:
        """Return which cell it is."""
        return CellKey(self.backend, self.dtype, self.case)


class ImportProof(msgspec.Struct, frozen=True):
    """What it showed to import a module of the stack, and what programs import from it next."""

    module: str
    distribution: str
    version: str
    measured: Measured
    """Refused: it wants a GPU, and there is none."""
    detail: str
    """One line: what was imported, or the exception."""
    step: str = ""
    """What failed: ``trl``, or ``trl:SFTTrainer``."""
    rule_id: str = ""
    """The root cause whose symptoms show; empty where none is known."""
    message: str = ""
    """What was raised or printed, as the symptoms of rules were looked for in it."""
    seconds: float = 0.0
    foreseen: tuple[str, ...] = ()
    """Ids of the rules whose errors foretold trouble with it."""


class SmokeRun(msgspec.Struct, frozen=True):
    """What a smoke run showed."""

    cells: tuple[SmokeCell, ...]
    problem: str = ""
    """Why nothing, or not everything, could be measured; empty where all was."""
    torch_version: str = ""
    cuda_note: str = ""
    """What torch warned of while it looked for GPUs: often why it finds none."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""
    remarks: tuple[str, ...] = ()
    """What to know of how it was run: the order of GPUs, switches that were not passed on."""
    unable: bool = False
    """Whether it could not begin: nobody knows what would have come out."""
    imports: tuple[ImportProof, ...] = ()
    """What was imported, where that was asked for."""

    @property
    def gpu_tested(self) -> bool:
        """Whether any cell ran on a GPU."""
        return any(
            cell.device not in (CPU, NO_DEVICE) and cell.measured is not Measured.NOT_RUN
            for cell in self.cells
        )


class ListedCell(msgspec.Struct, frozen=True):
    """One cell."""

    cell: CellKey
    runs: str
    """``default``, ``thorough`` or ``no``."""
    reason: str = ""
    """Why it cannot run."""


class CellList(msgspec.Struct, frozen=True):
    """All cells for the kind of device that is here."""

    device: str
    """``cuda`` or ``cpu``."""
    cells: tuple[ListedCell, ...]
    schema_version: int = 1


class SmokeSummary(msgspec.Struct, frozen=True):
    """How many cells came out how."""

    passed: int
    refused: int
    failed: int
    not_run: int


class SmokeReport(msgspec.Struct, frozen=True):
    """Everything that ``smoke`` has to say."""

    fadoctor: str
    rules: RulesInfo
    target: Target
    torch_version: str
    gpu_tested: bool
    cells: tuple[SmokeCell, ...]
    findings: tuple[Finding, ...]
    """Root causes of failed cells, and where prediction and run disagree."""
    summary: SmokeSummary
    notes: tuple[str, ...] = ()
    rule_errors: tuple[RuleError, ...] = ()
    imports: tuple[ImportProof, ...] = ()
    """What was imported, where that was asked for."""
    schema_version: int = SMOKE_SCHEMA_VERSION
