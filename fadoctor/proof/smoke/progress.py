"""What the workers for one device have shown so far; cell by cell, until all are settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.smoke import CPU, NO_DEVICE, CellFailure, CellKey, Device, SmokeCell, Speed
from fadoctor.model.smoke_catalogue import TRAPS
from fadoctor.model.verdict import Backend, Measured
from fadoctor.processes.command import Ending
from fadoctor.proof.smoke.choice import AUTO, CUDA, CellChoice, Chosen
from fadoctor.proof.smoke.judge import CellJudge, CellJudgement
from fadoctor.proof.smoke.memory import is_short
from fadoctor.proof.smoke.worker import Task, WorkerReport

if TYPE_CHECKING:
    from fadoctor.proof.smoke.events import Account, DeviceFailed, Imported, Shown

GARBLED = "the worker reported something that is not JSON of its own form"

_DEATHS = {
    Ending.SIGNALLED: CellFailure.SIGNAL,
    Ending.TIMED_OUT: CellFailure.TIMEOUT,
    Ending.STUCK: CellFailure.STUCK,
    Ending.EXITED: CellFailure.EXIT,
    Ending.NOT_STARTED: CellFailure.EXIT,
}
_MESSAGE_LIMIT = 4_000
_TERA = 1e12


class Progress:
    """Settles cells of one device: ``cuda:1``, or what is wanted as long as no worker knows."""

    def __init__(self, choice: CellChoice, judge: CellJudge, device: str) -> None:
        """Begin with every chosen cell open."""
        self.choice = choice
        self.judge = judge
        self.wanted = device
        self.imported: Imported | None = None
        self.settled: dict[CellKey, SmokeCell] = {}
        self.problems: list[str] = []
        self.import_failure: CellJudgement | None = None
        self.interrupted = False
        self.unable = False
        """Whether cells were left without a result for a reason that says nothing of them."""

    @property
    def device(self) -> Device:
        """The device that is worked on."""
        imported = self.imported
        if imported is None:
            return Device(NO_DEVICE, NO_DEVICE)
        known = {device.device: device for device in imported.devices}
        return known.get(imported.device) or Device(self.wanted, self.wanted)

    @property
    def kind(self) -> str:
        """``cuda`` or ``cpu``; what the facts expect as long as no worker knows."""
        if self.imported is None or not self.imported.device:
            return self.choice.expected
        return CPU if self.imported.device == CPU else CUDA

    @property
    def chosen(self) -> Chosen:
        """The cells of this kind of device."""
        return self.choice.on[self.kind]

    @property
    def open(self) -> tuple[CellKey, ...]:
        """The cells that are not settled."""
        return tuple(key for key in self.chosen.cells if key not in self.settled)

    @property
    def is_worth_starting(self) -> bool:
        """Whether some kind of device that a worker may find has cells."""
        if self.imported is not None or self.wanted != AUTO:
            return bool(self.open)
        return any(chosen.cells for chosen in self.choice.on.values())

    def task(self, total_s: float) -> Task:
        """Return what the next worker is to do."""
        kinds = {
            kind: tuple(key for key in chosen.cells if key not in self.settled)
            for kind, chosen in self.choice.on.items()
        }
        device = self.imported.device if self.imported else self.wanted
        wanted = self.choice.wanted
        return Task(device, kinds, wanted.timeout_s, total_s, self.choice.asked, wanted.like)

    def add(self, report: WorkerReport, task: Task) -> bool:
        """Take in one worker's report; return whether another worker is worth starting."""
        account = report.account
        self.interrupted |= report.interrupted
        if account.imported is None:
            self._add_failed_import(report, task)
            return False
        self.imported = self.imported or account.imported
        if not account.imported.device:
            what = self.wanted if ":" in self.wanted else "GPU"
            self.problems.append(f"torch sees no {what}")
            return False
        if account.device_failure is not None:
            self._add_device_failure(account.device_failure)
            return False
        before = len(self.settled)
        for done in account.done:
            if done.cell in self.open:
                judgement = self.judge.judge(done, self.device.device)
                if judgement.measured is Measured.NOT_RUN and done.exception is not None:
                    self.problems.append(f"{done.cell}: {judgement.detail}")
                    self.unable |= is_short(done.exception.text)
                self._settle(done.cell, judgement, done)
        if account.garbled:
            self.problems.append(GARBLED)
        if self.interrupted:
            self._add_proved(report, task)
        if account.ended or self.interrupted:
            return False
        self._add_death(report, task)
        settled_any = len(self.settled) > before
        return settled_any and bool(self.open) and report.result.ending is not Ending.STUCK

    def _settle(self, key: CellKey, judgement: CellJudgement, done: Shown | None = None) -> None:
        self.settled[key] = make_cell(key, self.device, judgement, done)

    def _add_failed_import(self, report: WorkerReport, task: Task) -> None:
        problem = _import_problem(report, task)
        self.problems.append(problem)
        if self.imported is None and _is_broken(report):
            failure = report.account.failure
            text = failure.exception.trace or problem if failure else f"{problem}\n{report.tail}"
            rule_id = self.judge.cause_of(text)
            kind = CellFailure.EXCEPTION if failure else _DEATHS[report.result.ending]
            self.import_failure = CellJudgement(Measured.FAILED, problem, rule_id, text, kind)

    def _add_device_failure(self, failed: DeviceFailed) -> None:
        """Settle what is open: no worker would come further."""
        judgement = self.judge.judge_device(failed)
        self.problems.append(f"{self.device.device}: {judgement.detail}")
        self.unable |= judgement.measured is Measured.NOT_RUN
        for key in self.open:
            self._settle(key, judgement)

    def _add_proved(self, report: WorkerReport, task: Task) -> bool:
        """Settle a cell of which all but the times was known; False where there is none such."""
        proved = report.account.proved
        if proved is None or proved.cell not in self.open:
            return False
        note = f"not timed: the worker {report.describe(task)}"
        shown = msgspec.structs.replace(proved, notes=(*proved.notes, note))
        self.problems.append(f"{proved.cell}: {note}")
        self._settle(proved.cell, self.judge.judge(shown, self.device.device), shown)
        return True

    def _add_death(self, report: WorkerReport, task: Task) -> None:
        """Blame the cell that was running, if one was."""
        if self._add_proved(report, task):
            return
        running = report.account.running
        text = f"the worker {report.describe(task)}"
        if running is None or running.cell not in self.open:
            if not report.account.done:
                self.problems.append(f"{text} before it ran a cell")
            return
        phase = printable(running.phase, 20)
        message = f"{phase}: {text}\n{report.tail}"
        failure = CellJudgement(
            Measured.FAILED,
            f"{phase}: {text}",
            self.judge.cause_of(message),
            message,
            _DEATHS[report.result.ending],
        )
        self.problems.append(f"{running.cell}: {failure.detail}")
        self._settle(running.cell, failure)
        if phase in ("import", "load"):  # it would kill each of the next workers, too
            for key in self._siblings(running.cell.backend):
                self._settle(key, failure)

    def _siblings(self, backend: Backend) -> list[CellKey]:
        return [key for key in self.open if key.backend is backend]

    def cells(self) -> tuple[SmokeCell, ...]:
        """Return all cells: what is still open as not run, or as failed where torch is broken."""
        if self.interrupted:
            self.problems.append("interrupted")
        if self.open and not self.problems:
            self.problems.append("the worker left cells out")
        self.unable |= bool(self.open) and self.import_failure is None
        open_ = self.import_failure or CellJudgement(Measured.NOT_RUN, self.problem)
        for key in self.open:
            self._settle(key, open_)
        found = [self.settled[key] for key in self.chosen.cells]
        for left in self.chosen.left_out:
            judgement = CellJudgement(Measured.NOT_RUN, left.reason)
            found.append(make_cell(left.cell, self.device, judgement))
        return tuple(found)

    @property
    def problem(self) -> str:
        """Why not everything could be measured, in one line."""
        return printable("; ".join(dict.fromkeys(self.problems)), 600)


def make_cell(
    key: CellKey, device: Device, judgement: CellJudgement, done: Shown | None = None
) -> SmokeCell:
    """Return a cell; what comes from a worker is made harmless."""
    errors = done.errors if done else {}
    return SmokeCell(
        printable(device.device, 20),
        printable(device.name, 120),
        printable(device.compute_capability, 20),
        key.backend,
        key.dtype,
        key.case,
        judgement.measured,
        printable(judgement.detail, 600),
        failure=judgement.failure,
        trap=key.case in TRAPS,
        rule_id=judgement.rule_id,
        phase=printable(done.phase, 20) if done else "",
        kernel=printable(", ".join(done.kernels), 160) if done else "",
        errors={printable(name, 20): value for name, value in errors.items() if value is not None},
        notes=tuple(printable(note) for note in done.notes) if done else (),
        speed=_speed(done) if done and judgement.measured is Measured.PASSED else None,
        message=judgement.message[-_MESSAGE_LIMIT:],
    )


def _speed(done: Shown) -> Speed | None:
    if done.forward_ms is None:
        return None
    flop = done.forward_flop or 0.0
    return Speed(
        done.forward_ms,
        done.backward_ms,
        _tflops(flop, done.forward_ms),
        # A backward computes five products where a forward computes two.
        _tflops(flop * 2.5, done.backward_ms) if done.backward_ms is not None else None,
        done.peak_memory_bytes,
    )


def _tflops(flop: float, time_ms: float) -> float | None:
    return flop / (time_ms / 1000) / _TERA if flop and time_ms > 0 else None


def _is_broken(report: WorkerReport) -> bool:
    """Tell whether there is a torch whose import raises or kills: then no backend can work."""
    account: Account = report.account
    if account.failure is not None:
        return not account.failure.missing
    died = report.result.ending in (Ending.EXITED, Ending.SIGNALLED) and not report.interrupted
    return account.started and died and not account.garbled


def _import_problem(report: WorkerReport, task: Task) -> str:
    account = report.account
    failure = account.failure
    if failure is not None and failure.missing:
        return "there is no torch in the target"
    if failure is not None:
        text = printable(f"{failure.exception.type}: {failure.exception.text}", 400)
        return f"importing torch failed: {text}"
    if account.garbled:
        return GARBLED
    if account.started:
        return f"importing torch: the worker {report.describe(task)}"
    if report.result.ok:
        return "the target's interpreter ran and reported nothing"
    return f"the target's interpreter {report.describe(task)}"
