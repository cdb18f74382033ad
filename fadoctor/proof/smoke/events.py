"""Read the events that a worker wrote, up to wherever it died."""

from __future__ import annotations

import msgspec

from fadoctor.model.smoke import CellKey, Device
from fadoctor.syntax.credentials.document import hide_in_document

SCHEMA = 3
"""Version of the events that `child/_fadoctor_worker.py` writes."""

DEVICE_LIMIT = 64


class WorkerRaised(msgspec.Struct, frozen=True):
    """An exception of the worker."""

    type: str
    text: str
    trace: str = ""
    """The end of its traceback."""


class Start(msgspec.Struct, frozen=True, tag_field="event", tag="start"):
    """The interpreter runs."""

    schema: int
    python: str


class ImportFailed(msgspec.Struct, frozen=True, tag_field="event", tag="import-failed"):
    """Torch cannot be imported or described."""

    schema: int
    missing: bool
    """Whether there simply is no torch."""
    exception: WorkerRaised


class Imported(msgspec.Struct, frozen=True, tag_field="event", tag="imported"):
    """Torch was imported."""

    schema: int
    torch_version: str
    cuda_available: bool
    cuda_warnings: tuple[str, ...]
    devices: tuple[Device, ...]
    device: str
    """The one that is worked on; empty where there is none of the kind that was asked for."""

    @property
    def gpus(self) -> tuple[str, ...]:
        """Return the names of the GPUs that torch sees."""
        return tuple(each.device for each in self.devices if each.device != "cpu")


class Phase(msgspec.Struct, frozen=True, tag_field="event", tag="phase"):
    """A part of a cell begins; ``import`` is the first."""

    schema: int
    cell: CellKey
    phase: str


class Memory(msgspec.Struct, frozen=True):
    """A GPU's memory in bytes, when it ran out."""

    free: int
    total: int
    own: int
    """What the worker itself held."""


class DeviceFailed(msgspec.Struct, frozen=True, tag_field="event", tag="device-failed"):
    """Not even a kernel of torch's own runs on the GPU."""

    schema: int
    exception: WorkerRaised
    memory: Memory | None = None


class Shown(msgspec.Struct, frozen=True):
    """What a cell has shown."""

    schema: int
    cell: CellKey
    phase: str
    """What went on last."""
    lacking: str = ""
    """What the tested package does not have, so that there is nothing to run."""
    kernels: tuple[str, ...] = ()
    errors: dict[str, float | None] = {}
    """None: the tensor holds NaN or infinity."""
    out_dtype: str = ""
    """Dtype of the output, by its name in torch; empty where nobody looked."""
    exception: WorkerRaised | None = None
    memory: Memory | None = None
    poisoned: bool = False
    """Whether the GPU can no longer be used by that process."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    forward_ms: float | None = None
    backward_ms: float | None = None
    forward_flop: float | None = None
    peak_memory_bytes: int | None = None


class Done(Shown, frozen=True, tag_field="event", tag="done"):
    """A cell has ended, well or with an exception."""


class CellProved(Shown, frozen=True, tag_field="event", tag="proved"):
    """All but the times of a cell is known."""


class End(msgspec.Struct, frozen=True, tag_field="event", tag="end"):
    """Every cell that was asked for was run."""

    schema: int


class Account(msgspec.Struct, frozen=True):
    """What one worker told before it ended."""

    started: bool = False
    failure: ImportFailed | None = None
    imported: Imported | None = None
    device_failure: DeviceFailed | None = None
    done: tuple[Done, ...] = ()
    proved: CellProved | None = None
    """What the running cell had shown already."""
    running: Phase | None = None
    """The cell that had begun and not ended, and how far it had come."""
    ended: bool = False
    garbled: bool = False
    """Whether there were lines that are no events; a last line without end is none of them."""


Event = Start | ImportFailed | Imported | DeviceFailed | Phase | CellProved | Done | End

_DECODER = msgspec.json.Decoder(Event)


def read_account(text: str) -> Account:
    """Return what a worker's file of events tells."""
    lines = text.split("\n")[:-1]  # what follows the last line end was cut off
    events = [read_event(line) for line in lines]
    begun = [event for event in events if isinstance(event, Phase | Done)]
    last = begun[-1] if begun else None
    running = last if isinstance(last, Phase) else None
    proofs = [event for event in events if isinstance(event, CellProved)]
    return Account(
        started=any(isinstance(event, Start) for event in events),
        failure=next((event for event in events if isinstance(event, ImportFailed)), None),
        imported=next((event for event in events if isinstance(event, Imported)), None),
        device_failure=next((e for e in events if isinstance(e, DeviceFailed)), None),
        done=tuple(event for event in begun if isinstance(event, Done)),
        proved=next((e for e in proofs if running and e.cell == running.cell), None),
        running=running,
        ended=any(isinstance(event, End) for event in events),
        garbled=None in events,
    )


def read_event(line: str) -> Event | None:
    """Return the event of a line; None where it is none."""
    try:
        event = _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError):  # ValidationError is a DecodeError
        return None
    if event.schema != SCHEMA:
        return None
    too_many = isinstance(event, Imported) and len(event.devices) > DEVICE_LIMIT + 1
    # here, where texts are whole: what was cut or joined no longer shows what is a credential
    return None if too_many else hide_in_document(event)
