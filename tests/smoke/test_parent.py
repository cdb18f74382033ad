"""How workers are started, and what is made of what they tell."""

from __future__ import annotations

import signal
import tempfile
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.smoke import NO_DEVICE, SmokeRun
from fadoctor.processes.command import Ending
from tests.smoke.smoke_recordings import (
    FAILED,
    GPU,
    HEAD,
    HEALTHY,
    NOT_RUN,
    PASSED,
    SEGFAULT,
    START,
    RecordedWorkers,
    done,
    ended,
    imported,
    line,
    measured,
    run_smoke,
)

if TYPE_CHECKING:
    from fadoctor.model.environment import Target


def test_healthy_target(target: Target) -> None:
    workers = RecordedWorkers((HEALTHY, ended()))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [PASSED] * 3
    assert [cell.dtype.value for cell in run.cells] == ["bf16", "fp16", "fp32"]
    assert run.problem == ""
    assert run.torch_version == "9.9"
    assert not run.gpu_tested
    assert run.cells[0].device_name == "CPU x86_64"


@pytest.mark.parametrize("order", [{}, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}])
def test_worker_gets_the_users_environment(target: Target, order: dict[str, str]) -> None:
    """Of the order of GPUs, too: cuda:0 is then what it is in a program of the user's."""
    workers = RecordedWorkers((HEALTHY, ended()))
    run_smoke(target, {"PYTHONPATH": "/mine", **order}, workers)
    command = workers.commands[0]
    assert command.env == {"PYTHONPATH": "/mine", **order}
    assert command.argv[0] == target.python
    assert command.timeout_s == 120 + 3 * 60
    assert command.pulse is not None
    assert (command.pulse.path, command.pulse.limit_s) == (command.argv[4], 60)


def test_target_that_was_only_found_is_not_run(target: Target) -> None:
    workers = RecordedWorkers()
    run = run_smoke(msgspec.structs.replace(target, may_run=False), {}, workers)
    assert measured(run) == [NOT_RUN] * 3
    assert f"--python {target.python}" in run.problem
    assert run.cells[0].device == NO_DEVICE
    assert workers.commands == []


def test_target_without_interpreter(target: Target) -> None:
    run = run_smoke(msgspec.structs.replace(target, python=None), {}, RecordedWorkers())
    assert measured(run) == [NOT_RUN] * 3
    assert "no interpreter" in run.problem


def test_target_without_torch(target: Target) -> None:
    exception = {"type": "ModuleNotFoundError", "text": "No module named 'torch'"}
    lines = [START, line("import-failed", missing=True, exception=exception)]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended(code=1))))
    assert run.problem == "there is no torch in the target"
    assert measured(run) == [NOT_RUN] * 3


def test_torch_that_cannot_be_imported_has_failed(target: Target) -> None:
    exception = {"type": "ImportError", "text": "libcudart.so.12: cannot open shared object file"}
    lines = [START, line("import-failed", missing=False, exception=exception)]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended(code=1))))
    assert measured(run) == [FAILED] * 3
    assert "libcudart.so.12" in run.cells[0].detail
    assert not run.gpu_tested


def test_torch_that_kills_its_importer_has_failed(target: Target) -> None:
    run = run_smoke(target, {}, RecordedWorkers(([START], ended(Ending.SIGNALLED, signal.SIGILL))))
    assert measured(run) == [FAILED] * 3
    assert run.problem.startswith("importing torch: the worker died of SIGILL (this processor")


@pytest.mark.parametrize("ending", [Ending.TIMED_OUT, Ending.STUCK])
def test_import_that_does_not_end_is_not_run(target: Target, ending: Ending) -> None:
    run = run_smoke(target, {}, RecordedWorkers(([START], ended(ending))))
    assert measured(run) == [NOT_RUN] * 3


def test_interpreter_that_does_not_work_is_not_run(target: Target) -> None:
    run = run_smoke(target, {}, RecordedWorkers(([], ended(code=1))))
    assert measured(run) == [NOT_RUN] * 3
    assert run.problem == "the target's interpreter exited with status 1"


def test_interpreter_that_tells_nothing(target: Target) -> None:
    run = run_smoke(target, {}, RecordedWorkers(([], ended())))
    assert run.problem == "the target's interpreter ran and reported nothing"


@pytest.mark.parametrize(
    "noise",
    [
        "",
        "no json",
        "[1]",
        '{"schema": 3}',
        '{"schema": 1, "event": "end"}',
        line("phase", phase="x", cell={"backend": "x", "dtype": "y", "case": "z"}),
        "[" * 100_000,
    ],
)
def test_garbled_lines_are_told_and_change_nothing(target: Target, noise: str) -> None:
    run = run_smoke(target, {}, RecordedWorkers(([*HEAD, noise, *HEALTHY[2:]], ended())))
    assert measured(run) == [PASSED] * 3
    assert "not JSON" in run.problem


def test_cells_that_nobody_asked_for_are_ignored(target: Target) -> None:
    lines = [*HEALTHY[:-1], done("fp8"), done("bf16", "flex"), HEALTHY[-1]]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended())))
    assert measured(run) == [PASSED] * 3


def test_endless_list_of_devices_is_refused(target: Target) -> None:
    lines = [START, imported(*[GPU] * 1000), line("end")]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended())))
    assert measured(run) == [NOT_RUN] * 3
    assert "not JSON" in run.problem


def test_text_from_the_worker_is_made_harmless(target: Target) -> None:
    device = {"device": "cuda:0", "name": "\x1b[2J" + "N" * 9000}
    run = run_smoke(target, {}, RecordedWorkers(([START, imported(device)], SEGFAULT)))
    assert "\x1b" not in run.cells[0].device_name
    assert len(run.cells[0].device_name) <= 120


def test_no_room_for_results(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    run = run_smoke(target, {}, RecordedWorkers())
    assert measured(run) == [NOT_RUN] * 3
    assert run.problem == "no temporary folder for the results: No such file or directory"
    assert run.unable


def test_run_survives_json(target: Target) -> None:
    run = run_smoke(target, {}, RecordedWorkers((HEALTHY, ended())))
    assert msgspec.json.decode(msgspec.json.encode(run), type=SmokeRun) == run


def test_speed_is_computed_from_work_and_time(target: Target) -> None:
    timed = done("bf16", forward_ms=2.0, backward_ms=4.0, forward_flop=4e9, peak_memory_bytes=1)
    run = run_smoke(target, {}, RecordedWorkers(([*HEAD, timed, line("end")], ended())))
    speed = run.cells[0].speed
    assert speed is not None
    assert (speed.forward_tflops, speed.backward_tflops) == (2.0, 2.5)
    assert speed.peak_memory_bytes == 1
