"""NVIDIA GPUs and driver: NVML first, nvidia-smi where NVML gives no list of GPUs."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.fact import Fact
from fadoctor.sources.probes.world import unknown


class GpuListObstacle(enum.Enum):
    """Why a source gave no list of GPUs."""

    NOT_INSTALLED = "not installed"
    """The library or the program is not there."""
    NO_DRIVER = "no driver"
    """It is there, and says that no driver is loaded."""
    HUNG = "hung"
    """It gave no answer in time."""
    FAILED = "failed"


class Trouble(msgspec.Struct, frozen=True):
    """Why there is no list of GPUs."""

    obstacle: GpuListObstacle
    reason: str


class NvidiaGpu(msgspec.Struct, frozen=True):
    """What was read about one GPU."""

    name: Fact
    compute_capability: Fact
    memory_bytes: Fact
    mig: Fact
    uuid: str | None = None
    """``GPU-8932f937-...``; None where it could not be read."""
    mig_uuids: tuple[str, ...] | None = None
    """UUIDs of its MIG instances; None where they could not be read."""


class GpuReading(msgspec.Struct, frozen=True):
    """What one source said. With `trouble`, the GPUs are not known; without, `gpus` is all."""

    how: str
    """nvml or nvidia-smi."""
    driver: Fact
    cuda: Fact
    gpus: tuple[NvidiaGpu, ...] = ()
    trouble: Trouble | None = None
    note: str = ""
    """Why an earlier source was not used."""


def failed_reading(how: str, obstacle: GpuListObstacle, reason: str) -> GpuReading:
    """Return the reading of a source that gave nothing."""
    nothing = unknown(reason, how)
    return GpuReading(how, nothing, nothing, (), Trouble(obstacle, reason))
