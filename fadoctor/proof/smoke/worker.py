"""Start workers under the target's interpreter, and read what they told."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.smoke import CellKey
from fadoctor.model.smoke_catalogue import entry_of
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.deadline import Pulse
from fadoctor.proof.smoke.events import Account, read_account
from fadoctor.proof.smoke.like import Like
from fadoctor.sources.probes.world import read_text
from fadoctor.syntax.credentials.hiding import hide_credentials

Tell = Callable[[str], None]

IMPORT_S = 120.0
"""Time to import torch and look for GPUs, seconds: 1 to 20 of them as a rule."""

_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_worker.py"
_EVENTS_LIMIT = 4 << 20
_OUTPUT_LIMIT = 1 << 16
_TAIL = 4_000
"""Characters of a dead worker's output in which symptoms are looked for."""

_USUAL_CAUSE = {
    "SIGILL": "this processor lacks an instruction that the code uses",
    "SIGKILL": "most often because memory ran out",
}


class Task(msgspec.Struct, frozen=True):
    """What one worker is to do."""

    device: str
    cells: dict[str, tuple[CellKey, ...]]
    """Kind of device -> cells: the worker knows which device there is."""
    timeout_s: float
    """Limit of each cell, seconds."""
    total_s: float
    """Limit of the worker, seconds."""
    asked: dict[str, dict[str, str]] = {}
    """Backend -> what its cells need to know beside."""
    like: Like | None = None
    """The shape of a model, where that is asked for."""


class WorkerReport(msgspec.Struct, frozen=True):
    """What came of a worker."""

    account: Account
    result: Result
    interrupted: bool = False
    """Whether Ctrl-C ended it."""

    def describe(self, task: Task) -> str:
        """Return one line that says how it ended."""
        if self.interrupted:
            return "was interrupted"
        timed_out = self.result.ending is Ending.TIMED_OUT
        if timed_out and self.account.running and self.result.elapsed_s < task.total_s:
            return f"gave no answer within {task.timeout_s:g} s and was stopped"
        text = printable(self.result.describe(), 300)
        cause = next((why for name, why in _USUAL_CAUSE.items() if text.endswith(name)), "")
        return f"{text} ({cause})" if cause else text

    @property
    def tail(self) -> str:
        """Return the end of what it printed: a library that ends the process says why there."""
        return tail_of(self.result)


def tail_of(result: Result) -> str:
    """Return the ends of what a process printed, whose credentials are hidden before it is cut."""
    said = (hide_credentials(text)[-_TAIL:] for text in (result.stdout, result.stderr))
    return "\n".join(said)


class Workers(msgspec.Struct, frozen=True):
    """How workers are started."""

    python: str
    env: dict[str, str]
    run: Callable[[Command], Result]
    folder: Path
    """Where they write their events."""
    tell: Tell | None = None
    """Who is told what goes on, where somebody waits at a terminal."""

    def work(self, task: Task) -> WorkerReport:
        """Run one worker to its end."""
        events, pulse = self._new_file(), self._new_file()
        names = {key.backend for keys in task.cells.values() for key in keys}
        modules = {name.value: entry_of(name).module for name in names}
        request: dict[str, object] = {
            "device": task.device,
            "cells": task.cells,
            "modules": modules,
        }
        request |= {"asked": task.asked} if task.asked else {}
        request |= {"like": task.like} if task.like else {}
        # -B: looking at an environment leaves no byte code in it.
        words = (str(events), str(pulse), msgspec.json.encode(request, order="sorted").decode())
        command = Command(
            (self.python, "-B", str(_SCRIPT), *words),
            task.total_s,
            env=self.env,
            output_limit=_OUTPUT_LIMIT,
            pulse=Pulse(str(pulse), task.timeout_s, IMPORT_S + task.timeout_s),
        )
        interrupted = False
        with self._watched(events, task):
            try:
                result = self.run(command)
            except KeyboardInterrupt:
                result, interrupted = Result(Ending.SIGNALLED, 2, "", "", 0.0), True
        account = read_account(read_text(events, _EVENTS_LIMIT) or "")
        return WorkerReport(account, result, interrupted)

    def _watched(self, events: Path, task: Task) -> AbstractContextManager[None]:
        if self.tell is None:
            return nullcontext()
        # Late: only a terminal has somebody who waits.
        from fadoctor.proof.smoke.watching import watched  # noqa: PLC0415

        counts = {kind: len(keys) for kind, keys in task.cells.items()}
        return watched(events, counts, self.tell)

    def _new_file(self) -> Path:
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            return Path(file.name)
