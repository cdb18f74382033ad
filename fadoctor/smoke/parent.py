"""Run attention in the target, by workers under its own interpreter, and say what was measured.

One worker runs all cells, since importing torch takes most of the time. When it dies, the cell that
was running has failed and a new worker takes the rest: each worker settles at least one cell, or is
the last.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.probes.run import Command, Ending, Result, child_environment
from fadoctor.probes.world import read_text
from fadoctor.smoke.cells import NO_DEVICE, CellName, Device, SmokeCell, SmokeRun
from fadoctor.smoke.events import Account, Done, Imported, read_account
from fadoctor.smoke.judge import judge, without_origin

if TYPE_CHECKING:
    from fadoctor.model.environment import Target

TIMEOUT_S = 120.0
"""Time for all workers together, seconds; importing torch takes 1 to 20 of them."""

BACKENDS = (Backend.SDPA_FLASH,)
DTYPES = (Dtype.BF16, Dtype.FP16, Dtype.FP32)

_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_smoke.py"
_EVENTS_LIMIT = 1 << 20
_OUTPUT_LIMIT = 1 << 16

_GARBLED = "the worker reported something that is not JSON of its own form"

_USUAL_CAUSE = {
    "SIGILL": "this processor lacks an instruction that the code uses",
    "SIGKILL": "most often because memory ran out",
}


def run_smoke(
    target: Target,
    environ: Mapping[str, str],
    run: Callable[[Command], Result],
    timeout_s: float = TIMEOUT_S,
) -> SmokeRun:
    """Run every cell in the target; never raises for what the target does.

    Starts processes and takes 2 seconds or more, at most about `timeout_s`.
    """
    hindrance = _hindrance(target)
    if hindrance or target.python is None:
        return _nothing_ran(hindrance)
    # CUDA counts the fastest GPU first unless told otherwise; NVML counts by bus address.
    env = child_environment(environ, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    workers = _Workers(target.python, env, run)
    try:
        with tempfile.TemporaryDirectory(prefix="fadoctor-", ignore_cleanup_errors=True) as folder:
            return _run_all(workers, Path(folder), timeout_s)
    except OSError as error:
        return _nothing_ran(f"no temporary folder for the results: {error.strerror or error}")


def _hindrance(target: Target) -> str:
    if target.python is None:
        return f"{target.label} has no interpreter that could run anything"
    if not target.may_run:
        return (
            f"{target.label} was only found, not named and not active, so nothing of it was run; "
            f"to run it, name it: --python {target.python}"
        )
    return ""


class _Workers(msgspec.Struct, frozen=True):
    """How workers are started."""

    python: str
    env: dict[str, str]
    run: Callable[[Command], Result]

    def work(
        self, folder: Path, skip: tuple[CellName, ...], timeout_s: float
    ) -> tuple[Account, Result]:
        """Run one worker to its end, and read what it told."""
        request = {"backends": BACKENDS, "dtypes": DTYPES, "skip": skip}
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            events = Path(file.name)
        # -B: looking at an environment leaves no byte code in it.
        argv = (self.python, "-B", str(_SCRIPT), str(events), msgspec.json.encode(request).decode())
        command = Command(argv, timeout_s, env=self.env, output_limit=_OUTPUT_LIMIT)
        result = self.run(command)
        return read_account(read_text(events, _EVENTS_LIMIT) or ""), result


class _Progress:
    """What the workers so far have shown."""

    def __init__(self) -> None:
        self.imported: Imported | None = None
        self.settled: dict[CellName, SmokeCell] = {}
        self.problems: list[str] = []
        self.import_broken = False

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices that the first worker named."""
        return self.imported.devices if self.imported else (Device(NO_DEVICE, NO_DEVICE),)

    @property
    def open(self) -> list[tuple[CellName, Device]]:
        """The cells that are not settled."""
        return [pair for pair in _plan(self.devices) if pair[0] not in self.settled]

    def add(self, account: Account, result: Result) -> bool:
        """Take in one worker's account; return whether another worker is worth starting."""
        if account.imported is None:
            self.problems.append(_import_problem(account, result))
            self.import_broken = self.imported is None and _is_broken(account, result)
            return False
        self.imported = self.imported or account.imported
        before = len(self.settled)
        places = dict(_plan(self.devices))
        for done in account.done:
            if done.cell in places:
                self._settle_done(places[done.cell], done)
        if account.garbled:
            self.problems.append(_GARBLED)
        if account.ended:
            return False
        self._add_death(account, result)
        settled_any = len(self.settled) > before
        return settled_any and bool(self.open) and result.ending is not Ending.STUCK

    def _settle_done(self, device: Device, done: Done) -> None:
        measured, detail = judge(done)
        if measured is Measured.NOT_RUN:
            self.problems.append(f"{done.cell}: {detail}")
        self.settled[done.cell] = _cell(done.cell, device, measured, detail, done)

    def _add_death(self, account: Account, result: Result) -> None:
        """Blame the cell that was running, if one was."""
        place = dict(self.open).get(account.running) if account.running else None
        if account.running and place:
            text = f"the worker {_describe(result)}"
            self.settled[account.running] = _cell(account.running, place, Measured.FAILED, text)
            self.problems.append(f"{account.running}: {text}")
        elif not account.done:
            self.problems.append(f"the worker {_describe(result)} before it ran a cell")


def _run_all(workers: _Workers, folder: Path, timeout_s: float) -> SmokeRun:
    progress = _Progress()
    left_s = timeout_s
    go_on = True
    while go_on:
        account, result = workers.work(folder, tuple(progress.settled), left_s)
        left_s -= result.elapsed_s
        go_on = progress.add(account, result)
        if go_on and left_s <= 0:
            progress.problems.append(f"the time limit of {timeout_s:.0f} s was used up")
            go_on = False
    return _summarise(progress)


def _summarise(progress: _Progress) -> SmokeRun:
    """Return the run, with every open cell as not run, or as failed where torch is broken."""
    if progress.open and not progress.problems:
        progress.problems.append("the worker left cells out")
    problem = printable("; ".join(dict.fromkeys(progress.problems)), 600)
    measured = Measured.FAILED if progress.import_broken else Measured.NOT_RUN
    for name, device in progress.open:
        progress.settled[name] = _cell(name, device, measured, problem)
    cells = tuple(progress.settled[name] for name, _ in _plan(progress.devices))
    imported = progress.imported
    if imported is None:
        return SmokeRun(cells, problem)
    return SmokeRun(
        cells,
        problem,
        printable(imported.torch_version, 80),
        imported.cuda_available,
        printable("; ".join(map(without_origin, imported.cuda_warnings)), 600),
    )


def _nothing_ran(hindrance: str) -> SmokeRun:
    progress = _Progress()
    progress.problems.append(hindrance)
    return _summarise(progress)


def _plan(devices: tuple[Device, ...]) -> list[tuple[CellName, Device]]:
    return [
        (CellName(printable(device.device, 20), backend, dtype), device)
        for device in devices
        for backend in BACKENDS
        for dtype in DTYPES
    ]


def _cell(
    name: CellName, device: Device, measured: Measured, detail: str, done: Done | None = None
) -> SmokeCell:
    errors = done.errors if done else {}
    return SmokeCell(
        name.device,
        printable(device.name, 120),
        printable(device.compute_capability, 20),
        name.backend,
        name.dtype,
        measured,
        detail,
        uuid=printable(device.uuid, 60),
        kernel=printable(", ".join(done.kernels), 160) if done else "",
        errors={printable(key, 20): value for key, value in errors.items() if value is not None},
        forward_ms=done.forward_ms if done else None,
        backward_ms=done.backward_ms if done else None,
    )


def _is_broken(account: Account, result: Result) -> bool:
    """Tell whether there is a torch whose import raises or kills: then no backend can work."""
    if account.failure is not None:
        return not account.failure.missing
    died = result.ending in (Ending.EXITED, Ending.SIGNALLED)
    return account.started and died and not account.garbled


def _import_problem(account: Account, result: Result) -> str:
    failure = account.failure
    if failure is not None and failure.missing:
        return "there is no torch in the target"
    if failure is not None:
        text = printable(f"{failure.exception.type}: {failure.exception.text}", 400)
        return f"importing torch failed: {text}"
    if account.garbled:
        return _GARBLED
    if account.started:
        return f"importing torch: the worker {_describe(result)}"
    if result.ok:
        return "the target's interpreter ran and told nothing"
    return f"the target's interpreter {_describe(result)}"


def _describe(result: Result) -> str:
    text = printable(result.describe(), 300)
    cause = next((why for name, why in _USUAL_CAUSE.items() if text.endswith(name)), "")
    return f"{text} ({cause})" if cause else text
