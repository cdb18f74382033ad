"""Choose the cells of a run: what was asked for, what exists here, and why the rest does not.

Pure: it looks at facts only. What a worker then finds outranks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Known, printable
from fadoctor.model.smoke import CPU, CellKey, CellList, ListedCell
from fadoctor.model.smoke_catalogue import ALL, CATALOGUE, HALF, LIKE, TRAPS, Entry, OnCpu
from fadoctor.model.verdict import Backend, Dtype
from fadoctor.proof.smoke.hub import FROM_HUB, Asked, ask_for, is_missing
from fadoctor.proof.smoke.like import Like

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.model.environment import Environment

CUDA = "cuda"
AUTO = "auto"
"""Device that nobody named: all GPUs if there are any, else the CPU."""

_DEVICE = re.compile(r"cuda(:\d{1,3})?|cpu|all")

Doomed = Mapping[tuple[Backend, Dtype], str]
"""Backend and dtype -> why running them is known to fail, on every GPU that is visible."""


class CellsRequest(msgspec.Struct, frozen=True):
    """What the command line asks for."""

    backends: tuple[Backend, ...] = ()
    dtypes: tuple[Dtype, ...] = ()
    device: str = AUTO
    """``cuda``, ``cuda:N``, ``cpu``, ``all`` or `AUTO`."""
    thorough: bool = False
    timeout_s: float = 60.0
    """Limit of one cell, seconds."""
    total_s: float = 0.0
    """Limit of each device, seconds; 0: as many cells as there are."""
    online: bool = False
    """Whether kernels may download from the Hub."""
    like: Like | None = None
    """The model whose shape is tried instead of the usual ones."""


class LeftOut(msgspec.Struct, frozen=True):
    """A cell that is not run."""

    cell: CellKey
    reason: str


class Chosen(msgspec.Struct, frozen=True):
    """The cells for one kind of device."""

    cells: tuple[CellKey, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class CellChoice(msgspec.Struct, frozen=True):
    """What a run is to do."""

    wanted: CellsRequest
    expected: str
    """Kind of device that the facts make likely, ``cuda`` or ``cpu``; torch decides."""
    on: dict[str, Chosen]
    """Kind of device -> its cells."""
    asked: dict[str, Asked] = {}
    """Backend -> what is to be loaded for it, where a kernel of the Hub is."""


def refuse_device(name: str, argument: str) -> None:
    """Raise UsageError for what names no device."""
    if not _DEVICE.fullmatch(name):
        raise UsageError(f"{argument} {printable(name, 40)}: give cuda, cuda:N, cpu or all")


def choose(wanted: CellsRequest, kernels: Kernels, doomed: Doomed | None = None) -> CellChoice:
    """Return the cells to run for either kind of device."""
    gpu_asked = wanted.device not in (AUTO, CPU)
    has_gpu = bool(visible_gpus(kernels.environment))
    expected = CUDA if gpu_asked or (wanted.device == AUTO and has_gpu) else CPU
    # What is known to fail is known of GPUs only.
    on = {
        CUDA: _chosen(wanted, kernels, CUDA, doomed or {}),
        CPU: _chosen(wanted, kernels, CPU, {}),
    }
    backends = {key.backend for chosen in on.values() for key in chosen.cells}
    asked = ask_for(kernels, sorted(backends, key=list(Backend).index), online=wanted.online)
    return CellChoice(wanted, expected, on, asked)


def cell_list(asked: CellChoice, thorough: CellChoice) -> CellList:
    """Return every cell, given what is chosen without and with ``--thorough``."""
    kind = asked.expected
    plain, full = asked.on[kind], thorough.on[kind]
    found = [ListedCell(key, "default" if key in plain.cells else "thorough") for key in full.cells]
    found += [ListedCell(left.cell, "no", left.reason) for left in full.left_out]
    return CellList(kind, tuple(found))


def _chosen(wanted: CellsRequest, kernels: Kernels, kind: str, doomed: Doomed) -> Chosen:
    cells: list[CellKey] = []
    left_out: list[LeftOut] = []
    installed = set(kernels.installed())
    for entry in CATALOGUE:
        if wanted.backends and entry.backend not in wanted.backends:
            continue
        hindrance = _hindrance(entry, wanted, kernels, kind)
        present = entry.backend in installed and entry.backend not in wanted.backends
        for key in _keys(entry, wanted):
            fate = doomed.get((key.backend, key.dtype), "")
            no_test = "" if key.dtype in entry.dtypes else f"it has no {key.dtype.value} kernels"
            # What cannot work here needs no hint of how to run it; what is absent is told first.
            reason = no_test or (fate if present else "") or hindrance or fate
            if reason:
                left_out.append(LeftOut(key, reason))
            else:
                cells.append(key)
    return Chosen(tuple(cells), tuple(left_out))


def _keys(entry: Entry, wanted: CellsRequest) -> Iterator[CellKey]:
    """Yield the cells of a backend that were asked for, those without kernels among them."""
    plain = entry.dtypes if wanted.thorough else ALL
    cases = (*entry.cases, *entry.thorough) if wanted.thorough else entry.cases
    if wanted.like is not None:
        usual = cases if wanted.thorough else ()
        cases = (*usual, *LIKE) if "causal" in entry.cases else ()
    for dtype in wanted.dtypes or plain:
        own = cases if dtype in HALF else tuple(case for case in cases if case not in TRAPS)
        for case in ("full",) if dtype is Dtype.FP8 and wanted.like is None else own:
            yield CellKey(entry.backend, dtype, case)


def _hindrance(entry: Entry, wanted: CellsRequest, kernels: Kernels, kind: str) -> str:
    """Return why nothing of a backend is run, empty where it is."""
    named = entry.backend in wanted.backends
    if kind == CPU and not _runs_on_cpu(entry.on_cpu, kernels.environment, named=named):
        return entry.on_cpu.value
    if named:
        return ""  # named: tried whatever the metadata say
    if entry.backend not in set(kernels.installed()):
        return _is_absent(entry, kernels)
    missing = is_missing(kernels, entry.backend) if entry.backend in FROM_HUB else ""
    if missing and not wanted.online:
        return f"{missing} is not in the Hub's cache: --online lets kernels download it"
    if entry.slow and not wanted.thorough and not _alone_can(entry, wanted):
        return f"{entry.slow}: --thorough or --backend {entry.backend.value} runs it"
    return ""


def _alone_can(entry: Entry, wanted: CellsRequest) -> bool:
    """Return whether few other backends can be given what a model has."""
    special = wanted.like is not None and bool(wanted.like.sinks or wanted.like.softcap)
    return special and entry.backend is Backend.FLEX


def _is_absent(entry: Entry, kernels: Kernels) -> str:
    """Return what is missing for a backend that is not installed."""
    version = kernels.version(entry.backend)
    name = kernels.package(entry.backend).replace("_", "-")
    if isinstance(version, Absent):
        return f"{name} is not installed"
    beside = kernels.route(entry.backend)
    return (
        "the package that it needs is not installed, or too old" if beside else f"{name} is too old"
    )


def _runs_on_cpu(on_cpu: OnCpu, environment: Environment, *, named: bool) -> bool:
    interpreted = _is_set(environment, "TRITON_INTERPRET", "1")
    match on_cpu:
        case OnCpu.YES:
            return True
        case OnCpu.NO:
            return False
        case OnCpu.NAMED:
            return named
        case OnCpu.TRITON:
            return interpreted
        case OnCpu.FLASH_ATTN:
            return interpreted and _is_set(environment, "FLASH_ATTENTION_TRITON_AMD_ENABLE", "TRUE")


def _is_set(environment: Environment, name: str, value: str) -> bool:
    fact = environment.fact(f"env.{name}")
    return isinstance(fact, Known) and fact.value == value
