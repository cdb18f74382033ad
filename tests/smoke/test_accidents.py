"""A flash-attn that crashes, hangs, lies in wait or shouts: each is told as what it is.

The worker is the real one, under a real interpreter; torch and flash_attn are stubs, so that it
takes no GPU and no time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.smoke import CellFailure
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.orphans import no_strays
from fadoctor.processes.run import run
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import (
    TARGET,
    choice_of,
    judge,
    write_fake_flash_attn,
    write_fake_torch,
)

if TYPE_CHECKING:
    from fadoctor.model.smoke import SmokeCell, SmokeRun

REFUSED, FAILED, NOT_RUN = Measured.REFUSED, Measured.FAILED, Measured.NOT_RUN
ON_BF16 = "if q.dtype == 'bfloat16': "


def smoke_with(
    folder: Path, accident: str, *, timeout_s: float = 60.0, gpus: int = 1, extra: str = ""
) -> SmokeRun:
    """Run bf16 and fp16 of a flash-attn that has an accident."""
    write_fake_torch(folder, gpus=gpus, extra=extra)
    write_fake_flash_attn(folder, accident)
    choice = choice_of(Backend.FA2, dtypes=(Dtype.BF16, Dtype.FP16), timeout_s=timeout_s)
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    with no_strays() as stuck:
        found = run_smoke(TARGET, environ, run, choice, judge())
    assert stuck == []
    return found


def cell_of(found: SmokeRun) -> SmokeCell:
    """Return the cell that had the accident; the one after it must have been run all the same."""
    accident, other = found.cells
    assert other.measured is REFUSED
    assert other.rule_id == "dtype-fp32-into-fa2"
    assert Measured.PASSED not in {accident.measured, other.measured}
    return accident


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("accident", "failure", "detail"),
    [
        ("ctypes.string_at(0)", "signal", "forward: the worker died of SIGSEGV"),
        ("os.abort()", "signal", "forward: the worker died of SIGABRT"),
        (
            "os.kill(os.getpid(), signal.SIGILL)",
            "signal",
            "SIGILL (this processor lacks an instruction",
        ),
        ("os.kill(os.getpid(), signal.SIGBUS)", "signal", "forward: the worker died of SIGBUS"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "signal",
            "SIGKILL (most often because memory ran out)",
        ),
        ("os._exit(0)", "exit", "forward: the worker exited with status 0"),
        ("sys.exit(0)", "exit", "forward: the worker exited with status 0"),
        ("os._exit(7)", "exit", "forward: the worker exited with status 7"),
    ],
)
def test_death_costs_its_cell_alone(
    tmp_path: Path, accident: str, failure: str, detail: str
) -> None:
    cell = cell_of(smoke_with(tmp_path, ON_BF16 + accident))
    assert (cell.measured, cell.failure.value) == (FAILED, failure)
    assert detail in cell.detail


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "accident",
    ["ctypes.PyDLL(None).sleep(600)", "time.sleep(600)", "exec('while True: pass')"],
    ids=["in C, holding the lock", "in Python, waiting", "in Python, busy"],
)
def test_hang_is_ended_at_its_own_limit(tmp_path: Path, accident: str) -> None:
    found = smoke_with(tmp_path, ON_BF16 + accident, timeout_s=1)
    cell = cell_of(found)
    assert (cell.measured, cell.detail) == (
        FAILED,
        "forward: the worker gave no answer within 1 s and was stopped",
    )
    assert cell.failure is CellFailure.TIMEOUT


def test_grandchild_that_holds_the_pipe_does_not_hold_the_run(tmp_path: Path) -> None:
    accident = (
        ON_BF16 + f"subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)'])"
    )
    # Who waited for the end of the pipe would reach the limit of the cell, and no cell be refused.
    found = smoke_with(tmp_path, accident, timeout_s=120.0)
    assert [cell.measured for cell in found.cells] == [REFUSED, REFUSED]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux can adopt orphans")
@pytest.mark.parametrize("leaves", [False, True], ids=["in the group", "left the group"])
def test_no_process_survives(tmp_path: Path, leaves: bool) -> None:  # noqa: FBT001
    pids = tmp_path / "pids"
    child = f"import os, time; open({str(pids)!r}, 'a').write('%d ' % os.getpid()); time.sleep(60)"
    argv = f"[{sys.executable!r}, '-c', {child!r}]"
    accident = f"subprocess.Popen({argv}, start_new_session={leaves}); time.sleep(1)"
    smoke_with(tmp_path, ON_BF16 + accident)
    [pid] = pids.read_text().split()
    assert not Path("/proc", pid).exists()


def test_ten_megabytes_of_noise(tmp_path: Path) -> None:
    noise = "[stream.write('x' * 10**7) for stream in (sys.stdout, sys.stderr)]"
    found = smoke_with(tmp_path, ON_BF16 + noise)
    assert [cell.measured for cell in found.cells] == [REFUSED, REFUSED]


def test_poisoned_gpu_gets_a_new_worker(tmp_path: Path) -> None:
    """After an illegal memory access nothing works in that process: the next cell needs another."""
    log = tmp_path / "log"
    extra = (
        f"open({str(log)!r}, 'a').write(os.environ.get('CUDA_DEVICE_ORDER', 'unset') + ' ')\n"
        "def broken(device):\n    raise RuntimeError('CUDA error: an illegal memory access')\n"
    )
    accident = ON_BF16 + (
        "import torch; torch.cuda.synchronize = torch.broken; torch.broken('cuda:0')"
    )
    found = smoke_with(tmp_path, accident, extra=extra)
    cell = cell_of(found)
    assert cell.measured is FAILED
    assert "forward: RuntimeError: CUDA error: an illegal memory access" in cell.detail
    assert log.read_text() == "unset unset "


def test_exception_that_harms_nothing_keeps_the_worker(tmp_path: Path) -> None:
    log = tmp_path / "log"
    extra = f"open({str(log)!r}, 'a').write('started ')"
    found = smoke_with(tmp_path, ON_BF16 + "raise ValueError('boom')", extra=extra)
    cell = cell_of(found)
    assert (cell.failure, cell.detail) == (CellFailure.EXCEPTION, "forward: ValueError: boom")
    assert log.read_text() == "started "


def test_library_that_ends_the_process_is_explained_by_its_last_words(tmp_path: Path) -> None:
    words = (
        "CUDA error (/x/flash_fwd_launch_template.h:190): "
        "no kernel image is available for execution on the device"
    )
    accident = ON_BF16 + f"sys.stderr.write({words!r}); sys.stderr.flush(); os._exit(1)"
    cell = cell_of(smoke_with(tmp_path, accident))
    assert (cell.measured, cell.rule_id) == (FAILED, "kernel-image-missing-fa2")


@pytest.mark.parametrize(
    ("text", "rule_id"),
    [
        ("FlashAttention only support fp16 and bf16 data type", "dtype-fp32-into-fa2"),
        ("query and key must have the same dtype", "fa2-mixed-qkv-dtype"),
        ("FlashAttention only supports Ampere GPUs or newer.", "gpu-too-old-fa2"),
        ("FlashAttention forward only supports head dimension at most 256", "headdim-limit"),
    ],
)
def test_each_known_refusal_is_one(tmp_path: Path, text: str, rule_id: str) -> None:
    cell = cell_of(smoke_with(tmp_path, ON_BF16 + f"raise RuntimeError({text!r})"))
    assert (cell.measured, cell.rule_id) == (REFUSED, rule_id)
    assert text in cell.detail


def test_unknown_words_are_no_refusal(tmp_path: Path) -> None:
    cell = cell_of(smoke_with(tmp_path, ON_BF16 + "raise RuntimeError('the moon is full')"))
    assert (cell.measured, cell.rule_id) == (FAILED, "")


def test_crash_while_importing_costs_one_worker_and_not_one_a_cell(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write_fake_torch(tmp_path, gpus=1, extra=f"open({str(log)!r}, 'a').write('started ')")
    write_fake_flash_attn(tmp_path, extra="os.kill(os.getpid(), signal.SIGSEGV)")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = run_smoke(TARGET, environ, run, choice_of(Backend.FA2), judge())
    assert [cell.measured for cell in found.cells] == [FAILED] * 3
    assert found.cells[2].detail == "import: the worker died of SIGSEGV"
    assert log.read_text() == "started "


def test_import_error_is_mapped_to_its_root_cause(tmp_path: Path) -> None:
    words = "/x/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"
    write_fake_torch(tmp_path, gpus=1)
    write_fake_flash_attn(tmp_path, extra=f"raise ImportError({words!r})")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = run_smoke(TARGET, environ, run, choice_of(Backend.FA2), judge())
    assert {cell.measured for cell in found.cells} == {FAILED}
    assert {cell.rule_id for cell in found.cells} == {"abi-undefined-symbol-cxx11"}


def test_package_that_is_not_there_is_not_run(tmp_path: Path) -> None:
    write_fake_torch(tmp_path, gpus=1)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = run_smoke(TARGET, environ, run, choice_of(Backend.FA3), judge())
    assert {cell.measured for cell in found.cells} == {NOT_RUN}
    assert "No module named 'flash_attn_interface'" in found.cells[0].detail


def test_namespace_that_flash_attn_4_leaves_is_not_flash_attn_2(tmp_path: Path) -> None:
    write_fake_torch(tmp_path, gpus=1)
    (tmp_path / "flash_attn" / "cute").mkdir(parents=True)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = run_smoke(TARGET, environ, run, choice_of(Backend.FA2), judge())
    assert {cell.measured for cell in found.cells} == {NOT_RUN}
    assert "empty namespace" in found.cells[0].detail


def test_every_gpu_gets_a_worker(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = smoke_with(tmp_path, "pass", gpus=3, extra=f"open({str(log)!r}, 'a').write('started ')")
    assert [cell.device for cell in found.cells] == [
        "cuda:0", "cuda:0", "cuda:1", "cuda:1", "cuda:2", "cuda:2"
    ]  # fmt: skip
    assert {cell.measured for cell in found.cells} == {REFUSED}
    assert found.cells[4].compute_capability == "8.2"
    assert log.read_text().split() == ["started"] * 3
