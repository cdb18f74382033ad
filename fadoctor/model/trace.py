"""What a traced command did: its processes, their attention calls, and who widened a tensor."""

from __future__ import annotations

import msgspec

from fadoctor.model.finding import Finding
from fadoctor.model.report import RuleError, RulesInfo

TRACE_SCHEMA_VERSION = 1


class TensorSeen(msgspec.Struct, frozen=True):
    """One tensor of a call. Never its values."""

    dtype: str
    shape: tuple[int, ...]
    device: str


class MaskSeen(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mask of a call."""

    kind: str
    """``tensor``, or the name of its class."""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    device: str = ""


class Culprit(msgspec.Struct, frozen=True):
    """The statement that made a tensor what it is."""

    kind: str
    """``cast``, ``promotion``, ``float32-from-start`` or ``other``."""
    module: str | None
    """Qualified name; "" is the outermost module, None where no module's code ran."""
    file: str
    line: int
    function: str
    op: str
    source: str
    because: str
    """The other operand, the parameter or buffer, and its dtype."""
    confidence: str
    module_class: str | None = None


class Call(msgspec.Struct, frozen=True):
    """One distinct attention call."""

    module: str | None
    entry: str
    backend: str
    """A backend of the verdicts, ``eager``, or ``unknown``."""
    times: int
    file: str
    line: int
    q: TensorSeen | None
    k: TensorSeen | None
    v: TensorSeen | None
    mask: MaskSeen | None
    causal: bool | None
    autocast: str | None
    """Its dtype, None where it was off."""
    grad: bool
    why_not_flash: tuple[str, ...]
    culprits: dict[str, Culprit]
    """Tensors that are wrong at the kernel, by their letter: q, k, v."""
    module_class: str | None = None
    function: str = ""
    source: str = ""
    ran_in: str | None = None
    """Dtype of what came out, None where nothing did."""
    error: str | None = None
    """What the call raised."""
    setting: str | None = None
    """The attention that the model's configuration asks for."""


class FailedImport(msgspec.Struct, frozen=True):
    """A module with attention that could not be imported."""

    module: str
    error: str


class NotEntered(msgspec.Struct, frozen=True):
    """A process that was started so that it could not be entered."""

    argv: tuple[str, ...]
    reason: str


class Record(msgspec.Struct, frozen=True):
    """What one process wrote."""

    pid: int
    rank: int | None
    argv: tuple[str, ...]
    entered: bool = True
    python: str = ""
    torch: str = ""
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}
    compiled: tuple[str, ...] = ()
    failed_imports: tuple[FailedImport, ...] = ()
    not_entered: tuple[NotEntered, ...] = ()
    calls: tuple[Call, ...] = ()
    lost: int = 0
    faults: tuple[str, ...] = ()


class TracedProcess(msgspec.Struct, frozen=True):
    """One process of the command."""

    pid: int | None
    """None where only its start was seen."""
    rank: int | None
    argv: tuple[str, ...]
    entered: bool
    compiled: tuple[str, ...]
    """Regions that torch.compile ran: attention inside them is not seen."""
    failed_imports: tuple[FailedImport, ...]
    calls: tuple[Call, ...]
    """In the order in which they were first seen."""
    reason: str = ""
    """Why it was not entered."""
    python: str = ""
    torch: str = ""
    """Version; "" where it was not imported."""
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}
    lost: int = 0
    """Calls beyond what a record holds."""
    faults: tuple[str, ...] = ()
    """Faults of fadoctor's own code, which were swallowed."""


class TraceReport(msgspec.Struct, frozen=True):
    """Everything that ``trace`` has to say."""

    fadoctor: str
    rules: RulesInfo
    command: tuple[str, ...]
    exit_code: int
    processes: tuple[TracedProcess, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    rule_errors: tuple[RuleError, ...] = ()
    schema_version: int = TRACE_SCHEMA_VERSION
