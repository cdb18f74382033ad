"""Workers of GPUs: which cell is on which, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.proof.smoke.parent import TF32_SWITCHES
from tests.smoke.smoke_recordings import (
    FAILED,
    GPU,
    NOT_RUN,
    PASSED,
    START,
    RecordedWorkers,
    done,
    ended,
    imported,
    line,
    measured,
    run_smoke,
    started,
)

if TYPE_CHECKING:
    from fadoctor.model.environment import Target


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
