"""What a worker's numbers and exceptions mean."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.verdict import Dtype, Measured
from fadoctor.smoke.cells import LIMITS
from fadoctor.smoke.events import read_account
from fadoctor.smoke.judge import KERNELS, judge, kernel_reasons
from fadoctor.smoke.parent import BACKENDS, DTYPES
from tests.smoke.smoke_recordings import done

FLASH = "ScaledDotProductFlashAttentionBackward0"
REFUSAL = {"type": "RuntimeError", "text": "No available kernel.  Aborting execution."}
# What torch 2.13 warns of when float32 is forced into the flash kernel.
CUDA_FP32_WARNINGS = [
    "Memory efficient kernel not used because: (Triggered internally at /p/sdp_utils.cpp:1.)",
    "Memory Efficient attention has been runtime disabled. (Triggered internally at /p/s.h:2.)",
    "Flash attention kernel not used because: (Triggered internally at /p/sdp_utils.cpp:3.)",
    "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float.",
]


def judged(dtype: str = "fp32", device: str = "cuda:0", **fields: Any) -> tuple[Measured, str]:
    line = done(dtype, device, **{"kernels": [FLASH], **fields})
    return judge(read_account(line + "\n").done[0])


def raised(text: str, kind: str = "RuntimeError", phase: str = "forward") -> dict[str, Any]:
    return {"exception": {"type": kind, "text": text}, "phase": phase, "kernels": []}


def test_healthy_numbers_pass() -> None:
    measured, detail = judged()
    assert measured is Measured.PASSED
    assert detail == "relative error against float64: out 2.0e-07, gradients at most 3.0e-07"


def test_cpu_cell_says_that_no_gpu_ran() -> None:
    assert judged(device="cpu")[1].startswith("on the CPU, not on a GPU: ")


@pytest.mark.parametrize("tensor", ["out", "dq", "dk", "dv"])
def test_error_above_the_limit_fails(tensor: str) -> None:
    errors = {"out": 0.0, "dq": 0.0, "dk": 0.0, "dv": 0.0, tensor: 2e-2}
    measured, detail = judged("bf16", errors=errors)
    assert measured is Measured.FAILED
    assert detail.startswith(f"{tensor} is wrong: relative error 2.0e-02")


def test_output_has_a_narrower_limit_than_gradients() -> None:
    error = 1e-2
    assert judged("bf16", errors={"out": 0, "dq": error, "dk": 0, "dv": 0})[0] is Measured.PASSED
    assert judged("bf16", errors={"out": error, "dq": 0, "dk": 0, "dv": 0})[0] is Measured.FAILED


def test_nan_fails() -> None:
    measured, detail = judged(errors={"out": 0.0, "dq": None, "dk": 0.0, "dv": 0.0})
    assert (measured, detail) == (Measured.FAILED, "dq holds NaN or infinity")


def test_missing_numbers_fail() -> None:
    assert judged(errors={"out": 0.0})[0] is Measured.FAILED


def test_other_kernel_fails_although_the_numbers_are_right() -> None:
    measured, detail = judged(kernels=[FLASH, "UnsafeViewBackward0"])
    assert measured is Measured.FAILED
    assert "UnsafeViewBackward0" in detail


def test_other_kernel_on_the_cpu_is_a_lack_of_old_torch() -> None:
    assert judged(device="cpu", kernels=["UnsafeViewBackward0"])[0] is Measured.REFUSED


def test_other_kernel_with_wrong_numbers_fails_on_the_cpu_too() -> None:
    errors = {"out": 1.0, "dq": 0.0, "dk": 0.0, "dv": 0.0}
    measured, detail = judged(device="cpu", kernels=["UnsafeViewBackward0"], errors=errors)
    assert measured is Measured.FAILED
    assert "out is wrong" in detail
    assert "UnsafeViewBackward0" in detail


def test_kernel_that_autograd_does_not_know_fails() -> None:
    assert judged(kernels=[])[0] is Measured.FAILED


def test_refusal_gives_the_reason_and_not_the_headings() -> None:
    measured, detail = judged(exception=REFUSAL, warnings=CUDA_FP32_WARNINGS, kernels=[])
    assert measured is Measured.REFUSED
    assert detail == CUDA_FP32_WARNINGS[-1]


def test_refusal_without_warnings_keeps_the_exception() -> None:
    assert judged(exception=REFUSAL)[1] == "No available kernel.  Aborting execution."


def test_half_precision_that_old_torch_lacks_on_the_cpu_is_refused() -> None:
    text = "\"baddbmm_with_gemm\" not implemented for 'Half'"
    assert judged(device="cpu", **raised(text))[0] is Measured.REFUSED
    assert judged(device="cuda:0", **raised(text))[0] is Measured.FAILED


def test_exception_fails_with_phase_type_and_first_line() -> None:
    text = "CUDA error: an illegal memory access was encountered\nCompile with `TORCH_USE_CUDA_DSA`"
    measured, detail = judged(**raised(text, "AcceleratorError", "backward"))
    assert measured is Measured.FAILED
    assert detail == (
        "backward: AcceleratorError: CUDA error: an illegal memory access was encountered"
    )


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory. Tried to allocate 2.00 MiB.",
        "CUDA error: all CUDA-capable devices are busy or unavailable",
    ],
)
def test_occupied_gpu_is_not_run_rather_than_failed(text: str) -> None:
    assert judged(**raised(text))[0] is Measured.NOT_RUN


def test_torch_without_this_function_is_not_run() -> None:
    assert judged(available=False, kernels=[], errors={})[0] is Measured.NOT_RUN


def test_detail_is_one_harmless_line() -> None:
    detail = judged(**raised("\x1b[31mred\x1b[0m " + "x" * 5000))[1]
    assert "\x1b" not in detail
    assert len(detail) <= 600


def test_reasons_survive_hostile_warnings() -> None:
    assert kernel_reasons(("(Triggered internally at " * 500, "")) != []


def test_every_cell_has_limits_and_a_kernel() -> None:
    assert set(DTYPES) <= set(LIMITS)
    assert set(BACKENDS) <= set(KERNELS)
    assert LIMITS[Dtype.FP16].out < LIMITS[Dtype.BF16].out
