"""The real torch of the interpreter that runs the tests: healthy, and with injected faults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.verdict import Measured
from fadoctor.probes.run import run
from fadoctor.smoke.cells import LIMITS, SmokeRun
from fadoctor.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import TARGET

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.environment import Target

pytestmark = [pytest.mark.torch, pytest.mark.slow]

FAULTY = """
import torch
healthy = torch.nn.functional.scaled_dot_product_attention
def faulty(q, k, v, is_causal=False):
    return {fault}
torch.nn.functional.scaled_dot_product_attention = faulty
"""


@pytest.fixture
def target() -> Target:
    return TARGET


def smoke_on_cpu(target: Target, **changes: str) -> SmokeRun:
    return run_smoke(target, {**os.environ, "CUDA_VISIBLE_DEVICES": "", **changes}, run)


def smoke_with_fault(target: Target, folder: Path, fault: str) -> SmokeRun:
    """Run with a sitecustomize that wraps attention; the flash kernel still does the work."""
    (folder / "sitecustomize.py").write_text(FAULTY.replace("{fault}", fault))
    return smoke_on_cpu(target, PYTHONPATH=str(folder))


def test_healthy_torch_passes_with_room_to_spare(target: Target) -> None:
    found = smoke_on_cpu(target)
    assert found.problem == ""
    assert [cell.measured for cell in found.cells] == [Measured.PASSED] * 3
    assert not found.gpu_tested
    for cell in found.cells:
        assert cell.kernel.startswith("ScaledDotProductFlashAttention")
        assert cell.errors["out"] < 0.7 * LIMITS[cell.dtype].out
        assert max(cell.errors.values()) < 0.7 * LIMITS[cell.dtype].gradients


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        ("healthy(q, k, v * 1.01, is_causal=is_causal)", "out is wrong"),
        ("healthy(q, k, v * float('nan'), is_causal=is_causal)", "out holds NaN"),
        ("healthy(q, k, k + 0 * v, is_causal=is_causal)", "out is wrong"),
        ("healthy(q, k, v)", "out is wrong"),
        ("healthy(q, k, v, is_causal=is_causal) * 1.01", "another kernel ran"),
    ],
    ids=["scale", "nan", "k-for-v", "no-mask", "scale-after"],
)
def test_injected_fault_fails(target: Target, tmp_path: Path, fault: str, detail: str) -> None:
    found = smoke_with_fault(target, tmp_path, fault)
    assert [cell.measured for cell in found.cells] == [Measured.FAILED] * 3
    assert all(detail in cell.detail for cell in found.cells)


def test_wrong_gradient_alone_fails(target: Target, tmp_path: Path) -> None:
    twice = "healthy(q, k, 2 * v - v.detach(), is_causal=is_causal)"
    found = smoke_with_fault(target, tmp_path, twice)
    assert [cell.measured for cell in found.cells] == [Measured.FAILED] * 3
    assert all("dv is wrong" in cell.detail for cell in found.cells)
    assert all("out is wrong" not in cell.detail for cell in found.cells)


def test_silent_fall_back_to_another_kernel_is_seen(target: Target, tmp_path: Path) -> None:
    plain = "torch._scaled_dot_product_attention_math(q, k, v, is_causal=is_causal)[0]"
    found = smoke_with_fault(target, tmp_path, plain)
    assert [cell.measured for cell in found.cells] == [Measured.REFUSED] * 3
    assert all("another kernel ran" in cell.detail for cell in found.cells)


@pytest.mark.gpu
def test_gpu_runs_half_precision_and_refuses_float32(target: Target) -> None:
    found = run_smoke(target, os.environ, run)
    if not found.gpu_tested:
        pytest.skip("torch sees no GPU")
    by_dtype = {cell.dtype.value: cell.measured for cell in found.cells}
    assert by_dtype["fp32"] is Measured.REFUSED
    assert Measured.FAILED not in by_dtype.values()
