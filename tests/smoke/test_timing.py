"""What is proved stays proved, however its timing goes wrong: on a CPU, with a real torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import TARGET, choice_of, judge

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.smoke import SmokeRun

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LATER_CALLS = """
import os, signal, time
import torch
healthy = torch.nn.functional.scaled_dot_product_attention
calls = []

def attention(*given, **more):
    calls.append(0)
    if len(calls) > 1:
        {accident}
    return healthy(*given, **more)

torch.nn.functional.scaled_dot_product_attention = attention
"""
# On a busy machine forwards differ by more than this short backward takes: it is made longer.
GRAPHS_ONCE = """
import time, torch
healthy = torch.autograd.grad

def grad(*given, retain_graph=False, **more):
    if retain_graph:
        raise RuntimeError("This backward function was compiled with non-empty donated buffers")
    time.sleep(0.5)
    return healthy(*given, **more)

torch.autograd.grad = grad
"""

SLOW_FORWARDS = """
import time, torch
attend, healthy = torch.nn.functional.scaled_dot_product_attention, torch.autograd.grad
backwards = []

def attention(*given, **more):
    if len(backwards) < 2:  # The proof's own, and the one that warms up.
        time.sleep(0.1)
    return attend(*given, **more)

def grad(*given, **more):
    backwards.append(0)
    return healthy(*given, **more)

torch.nn.functional.scaled_dot_product_attention, torch.autograd.grad = attention, grad
"""


def timed_with(folder: Path, code: str, timeout_s: float = 60.0) -> SmokeRun:
    """Run the one case that is timed on a CPU."""
    (folder / "sitecustomize.py").write_text(code)
    choice = choice_of(Backend.SDPA_FLASH, dtypes=(Dtype.FP32,), timeout_s=timeout_s)
    return run_smoke(TARGET, {**os.environ, "PYTHONPATH": str(folder)}, run, choice, judge())


@pytest.mark.parametrize(
    ("accident", "note"),
    [
        ("raise ValueError('boom')", "not timed: ValueError: boom"),
        pytest.param(
            "raise torch.OutOfMemoryError('CUDA out of memory. Tried')",
            "not timed: OutOfMemoryError: CUDA out of memory. Tried",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "os._exit(3)", "not timed: the worker exited with status 3", marks=pytest.mark.long
        ),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGSEGV)",
            "not timed: the worker died of SIGSEGV",
            marks=pytest.mark.long,
        ),
    ],
)
def test_accident_while_timing_is_a_note(tmp_path: Path, accident: str, note: str) -> None:
    [cell] = timed_with(tmp_path, LATER_CALLS.format(accident=accident)).cells
    assert (cell.measured, cell.notes, cell.speed) == (Measured.PASSED, (note,), None)
    assert set(cell.errors) == {"out", "dq", "dk", "dv"}


@pytest.mark.long
def test_endless_timing_is_a_note(tmp_path: Path) -> None:
    found = timed_with(tmp_path, LATER_CALLS.format(accident="time.sleep(600)"), timeout_s=8)
    assert found.cells[0].measured is Measured.PASSED
    assert found.cells[0].notes == (
        "not timed: the worker gave no answer within 8 s and was stopped",
    )


def test_graph_that_serves_once_is_timed(tmp_path: Path) -> None:
    """torch.compile donates the buffers of its backward: a graph of flex cannot be kept."""
    [cell] = timed_with(tmp_path, GRAPHS_ONCE).cells
    assert (cell.measured, cell.notes) == (Measured.PASSED, ())
    assert cell.speed is not None
    assert cell.speed.backward_ms is not None
    assert cell.speed.backward_ms > 0


def test_forward_slower_than_both_leaves_no_time_of_a_backward(tmp_path: Path) -> None:
    [cell] = timed_with(tmp_path, SLOW_FORWARDS).cells
    assert (cell.measured, cell.notes) == (Measured.PASSED, ())
    assert cell.speed is not None
    assert cell.speed.forward_ms > 50
    assert cell.speed.backward_ms is None
