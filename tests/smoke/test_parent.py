"""How workers are started, what their deaths mean, and when no other is started."""

from __future__ import annotations

import signal
import tempfile
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.smoke import NO_DEVICE, CellFailure, SmokeRun
from fadoctor.model.verdict import Measured
from fadoctor.processes.command import Ending, Result
from fadoctor.proof.smoke.parent import TF32_SWITCHES
from fadoctor.proof.smoke.parent import run_smoke as run_cells
from tests.smoke.smoke_recordings import (
    GPU,
    TARGET,
    RecordedWorkers,
    choice_of,
    done,
    ended,
    imported,
    judge,
    line,
    started,
)

if TYPE_CHECKING:
    from fadoctor.model.environment import Target

START = line("start", python="3.11.7")
HEAD = [START, imported()]
HEALTHY = [*HEAD]
for _dtype in ("bf16", "fp16", "fp32"):
    HEALTHY += [started(_dtype), done(_dtype)]
HEALTHY.append(line("end"))

PASSED, FAILED, NOT_RUN = Measured.PASSED, Measured.FAILED, Measured.NOT_RUN
SEGFAULT = ended(Ending.SIGNALLED, signal.SIGSEGV)


@pytest.fixture
def target() -> Target:
    return TARGET


def run_smoke(
    target: Target, environ: dict[str, str], workers: RecordedWorkers, **wanted: Any
) -> SmokeRun:
    return run_cells(target, environ, workers, choice_of(**wanted), judge())


def measured(run: SmokeRun) -> list[Measured]:
    return [cell.measured for cell in run.cells]


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


def test_crash_costs_its_cell_and_a_new_worker_takes_the_rest(target: Target) -> None:
    first = [*HEAD, started("bf16"), done("bf16"), started("fp16")]
    second = [*HEAD, started("fp32"), done("fp32"), line("end")]
    workers = RecordedWorkers((first, SEGFAULT), (second, ended()))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [PASSED, FAILED, PASSED]
    assert run.cells[1].detail == "forward: the worker died of SIGSEGV"
    assert run.problem == "sdpa-flash fp16 causal: forward: the worker died of SIGSEGV"
    assert workers.dtypes(1) == ["fp32"]


def test_second_worker_gets_what_is_left_of_the_time(target: Target) -> None:
    first = ([*HEAD, started("bf16")], ended(Ending.SIGNALLED, signal.SIGABRT, elapsed_s=7.0))
    workers = RecordedWorkers(first, ([*HEAD, line("end")], ended()))
    run_smoke(target, {}, workers, total_s=10)
    assert [command.timeout_s for command in workers.commands] == [10, 3]


def test_no_more_workers_than_cells(target: Target) -> None:
    recordings = [([*HEAD, started(dtype)], SEGFAULT) for dtype in ("bf16", "fp16", "fp32")]
    workers = RecordedWorkers(*recordings)
    run = run_smoke(target, {}, workers)
    assert measured(run) == [FAILED] * 3
    assert len(workers.commands) == 3


def test_death_between_cells_without_progress_is_the_end(target: Target) -> None:
    workers = RecordedWorkers((HEAD, SEGFAULT))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [NOT_RUN] * 3
    assert run.problem == "the worker died of SIGSEGV before it ran a cell"


def test_repeated_cell_does_not_restart_for_ever(target: Target) -> None:
    same = ([*HEAD, started("bf16")], SEGFAULT)
    workers = RecordedWorkers(same, same)
    assert measured(run_smoke(target, {}, workers)) == [FAILED, NOT_RUN, NOT_RUN]
    assert len(workers.commands) == 2


def test_time_out_fails_the_running_cell_and_leaves_the_rest(target: Target) -> None:
    hanging = ([*HEAD, started("bf16"), done("bf16"), started("fp16")],)
    workers = RecordedWorkers((*hanging, ended(Ending.TIMED_OUT, elapsed_s=120.1)))
    run = run_smoke(target, {}, workers, total_s=120)
    assert measured(run) == [PASSED, FAILED, NOT_RUN]
    assert "gave no answer within 120 s" in run.cells[1].detail
    assert "time limit of 120 s was used up" in run.problem


def test_worker_that_cannot_be_ended_is_the_last(target: Target) -> None:
    lines = [START, imported(GPU), started("bf16")]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended(Ending.STUCK))))
    assert measured(run) == [FAILED, NOT_RUN, NOT_RUN]
    assert run.cells[0].failure is CellFailure.STUCK
    assert "stuck in the kernel or the driver" in run.problem


def test_gpu_cells_carry_the_device(target: Target) -> None:
    kernels = ["ScaledDotProductFlashAttentionBackward0"]
    cells = [done(dtype, kernels=kernels) for dtype in ("bf16", "fp16", "fp32")]
    lines = [START, imported(GPU), *cells, line("end")]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended())))
    cell = run.cells[0]
    assert run.gpu_tested
    assert [cell.device, cell.device_name] == ["cuda:0", "NVIDIA H100"]
    assert cell.compute_capability == "9.0"
    assert cell.errors["dq"] == 3e-7


def test_worker_that_leaves_a_poisoned_gpu_is_replaced(target: Target) -> None:
    exception = {"type": "RuntimeError", "text": "CUDA error: an illegal memory access"}
    broken = done("bf16", exception=exception, kernels=[], phase="forward")
    first = [START, imported(GPU), started("bf16"), broken]
    second = [START, imported(GPU), line("end")]
    workers = RecordedWorkers((first, ended(code=1)), (second, ended()))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [FAILED, NOT_RUN, NOT_RUN]
    assert workers.request(1)["cells"]["cuda"][0]["dtype"] == "fp16"
    assert run.problem == run.cells[1].detail == "the worker left cells out"


def test_occupied_gpu_is_told_as_a_problem(target: Target) -> None:
    exception = {"type": "OutOfMemoryError", "text": "CUDA out of memory."}
    cells = [done(d, exception=exception) for d in ("bf16", "fp16", "fp32")]
    lines = [START, imported(GPU), *cells, line("end")]
    run = run_smoke(target, {}, RecordedWorkers((lines, ended())))
    assert measured(run) == [NOT_RUN] * 3
    assert "occupied" in run.problem


def test_second_worker_that_cannot_import_leaves_the_rest_not_run(target: Target) -> None:
    first = ([*HEAD, started("bf16")], SEGFAULT)
    workers = RecordedWorkers(first, ([START], ended(Ending.SIGNALLED, signal.SIGKILL)))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [FAILED, NOT_RUN, NOT_RUN]
    assert "SIGKILL (most often because memory ran out)" in run.problem


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


def test_time_limit_of_a_cell_is_told_as_such(target: Target) -> None:
    hanging = [*HEAD, started("bf16"), done("bf16"), started("fp16", "backward")]
    last = [*HEAD, started("fp32"), done("fp32"), line("end")]
    workers = RecordedWorkers((hanging, ended(Ending.TIMED_OUT, elapsed_s=4.0)), (last, ended()))
    run = run_smoke(target, {}, workers, timeout_s=3)
    assert measured(run) == [PASSED, FAILED, PASSED]
    assert run.cells[1].detail == "backward: the worker gave no answer within 3 s and was stopped"


def test_death_while_importing_takes_all_cells_of_its_backend(target: Target) -> None:
    workers = RecordedWorkers(([*HEAD, started("bf16", "import")], SEGFAULT))
    run = run_smoke(target, {}, workers)
    assert [cell.detail for cell in run.cells] == ["import: the worker died of SIGSEGV"] * 3


def test_ctrl_c_keeps_what_is_known(target: Target) -> None:
    lines = [*HEAD, started("bf16"), done("bf16"), started("fp16")]
    workers = RecordedWorkers((lines, KeyboardInterrupt()))
    run = run_smoke(target, {}, workers)
    assert measured(run) == [PASSED, NOT_RUN, NOT_RUN]
    assert run.interrupted
    assert run.problem == run.cells[1].detail == "interrupted"


def test_other_gpus_have_workers_of_their_own(target: Target) -> None:
    gpus = [GPU, {**GPU, "device": "cuda:1"}]
    kernels = ["ScaledDotProductFlashAttentionBackward0"]
    cells = [done(dtype, kernels=kernels) for dtype in ("bf16", "fp16", "fp32")]
    recordings = [
        ([START, imported(*gpus, device=name), *cells, line("end")], ended())
        for name in ("cuda:0", "cuda:1")
    ]
    workers = RecordedWorkers(*recordings)
    run = run_smoke(target, {}, workers)
    assert [workers.request(index)["device"] for index in (0, 1)] == ["auto", "cuda:1"]
    assert [cell.device for cell in run.cells] == ["cuda:0"] * 3 + ["cuda:1"] * 3
    assert measured(run) == [PASSED] * 6


def two_gpus() -> RecordedWorkers:
    gpus = [GPU, {**GPU, "device": "cuda:1"}]
    kernels = ["ScaledDotProductFlashAttentionBackward0"]
    cells = [done(dtype, kernels=kernels) for dtype in ("bf16", "fp16", "fp32")]
    return RecordedWorkers(*(
        ([START, imported(*gpus, device=name), *cells, line("end")], ended())
        for name in ("cuda:0", "cuda:1")
    ))  # fmt: skip


def test_order_of_gpus_is_told(target: Target) -> None:
    [said] = run_smoke(target, {}, two_gpus()).remarks
    assert said == "CUDA counts the GPUs the fastest first (no CUDA_DEVICE_ORDER)"
    [said] = run_smoke(target, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, two_gpus()).remarks
    assert said.startswith("CUDA counts the GPUs by bus address")


@pytest.mark.parametrize("name", TF32_SWITCHES)
def test_switches_of_tf32_are_not_passed_on_and_told(target: Target, name: str) -> None:
    workers = two_gpus()
    run = run_smoke(target, {name: "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, workers)
    assert workers.commands[0].env == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert any(said.startswith(f"{name}=1: float32") for said in run.remarks)
    assert len(run_smoke(target, {name: "0"}, two_gpus()).remarks) == 1


def test_no_kernel_of_torch_settles_all_cells_with_one_worker(target: Target) -> None:
    """33 cells had 33 workers, and an extension was blamed."""
    text = "CUDA error: no kernel image is available for execution on the device"
    trace = (
        'Traceback (most recent call last):\n  File "/x/_fadoctor_worker.py", line 9, in f\n'
        f"    ones = torch.ones(2, device=device)\nRuntimeError: {text}\n"
    )
    failed = line("device-failed", exception={"type": "RuntimeError", "text": text, "trace": trace})
    workers = RecordedWorkers(([START, imported(GPU), failed], ended(code=1)))
    run = run_smoke(target, {}, workers)
    assert len(workers.commands) == 1
    assert measured(run) == [FAILED] * 3
    assert {cell.rule_id for cell in run.cells} == {"kernel-image-missing-torch"}
    assert run.gpu_tested
    assert "not even a kernel of torch itself runs" in run.problem


def test_occupied_gpu_takes_no_cell(target: Target) -> None:
    exception = {"type": "OutOfMemoryError", "text": "CUDA error: out of memory"}
    memory = {"free": 1 << 20, "total": 24 << 30, "own": 0}
    failed = line("device-failed", exception=exception, memory=memory)
    run = run_smoke(target, {}, RecordedWorkers(([START, imported(GPU), failed], ended(code=1))))
    assert measured(run) == [NOT_RUN] * 3
    assert "0.0 GiB of 24.0 GiB are free, others hold 24.0 GiB" in run.cells[0].detail
    assert run.unable


def proved(dtype: str) -> str:
    return done(dtype).replace('"event": "done"', '"event": "proved"')


def test_time_out_while_timing_takes_nothing_from_a_proved_cell(target: Target) -> None:
    slow = [*HEAD, started("bf16"), started("bf16", "timing"), proved("bf16")]
    last = [*HEAD, *HEALTHY[4:]]
    workers = RecordedWorkers((slow, ended(Ending.TIMED_OUT, elapsed_s=4.0)), (last, ended()))
    run = run_smoke(target, {}, workers, timeout_s=3)
    assert measured(run) == [PASSED] * 3
    assert run.cells[0].notes == (
        "not timed: the worker gave no answer within 3 s and was stopped",
    )
    assert run.cells[0].errors["dq"] == 3e-7


@pytest.mark.parametrize("result", [SEGFAULT, ended(code=1), ended(Ending.STUCK)])
def test_worker_that_dies_while_timing_leaves_a_proved_cell_passed(
    target: Target, result: Result
) -> None:
    first = [*HEAD, started("bf16"), started("bf16", "timing"), proved("bf16")]
    workers = RecordedWorkers((first, result), ([*HEAD, *HEALTHY[4:]], ended()))
    run = run_smoke(target, {}, workers)
    assert run.cells[0].measured is PASSED
    assert run.cells[0].notes[0].startswith("not timed: the worker ")
    assert "not timed" in run.problem


def test_interrupted_while_timing_the_proved_cell_counts(target: Target) -> None:
    first = [*HEAD, started("bf16"), started("bf16", "timing"), proved("bf16")]
    run = run_smoke(target, {}, RecordedWorkers((first, KeyboardInterrupt())))
    assert measured(run) == [PASSED, NOT_RUN, NOT_RUN]


@pytest.mark.parametrize(
    ("lines", "result", "unable"),
    [
        (HEALTHY, ended(), False),
        ([START], ended(Ending.TIMED_OUT), True),
        (HEAD, SEGFAULT, True),
        ([], ended(code=1), True),
        ([*HEAD, line("end")], ended(), True),
        ([*HEAD, started("bf16"), done("bf16"), started("fp16")], ended(Ending.STUCK), True),
    ],
    ids=["all run", "no import", "before a cell", "no interpreter", "left out", "stuck"],
)
def test_cells_without_a_result_are_unknown(
    target: Target,
    lines: list[str],
    result: Result,
    unable: bool,  # noqa: FBT001
) -> None:
    assert run_smoke(target, {}, RecordedWorkers((lines, result))).unable is unable


def test_speed_is_computed_from_work_and_time(target: Target) -> None:
    timed = done("bf16", forward_ms=2.0, backward_ms=4.0, forward_flop=4e9, peak_memory_bytes=1)
    run = run_smoke(target, {}, RecordedWorkers(([*HEAD, timed, line("end")], ended())))
    speed = run.cells[0].speed
    assert speed is not None
    assert (speed.forward_tflops, speed.backward_tflops) == (2.0, 2.5)
    assert speed.peak_memory_bytes == 1
