"""What a worker's numbers and exceptions mean."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.errors import UsageError
from fadoctor.model.smoke import CellFailure
from fadoctor.model.smoke_catalogue import CATALOGUE, compared, entry_of
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.proof.smoke.events import read_account
from fadoctor.proof.smoke.judge import DECLINES, KERNELS, CellJudgement, kernel_reasons
from fadoctor.proof.smoke.limits import read_limits
from tests.smoke.smoke_recordings import done, judge, shipped

PASSED, REFUSED, FAILED, NOT_RUN = (
    Measured.PASSED,
    Measured.REFUSED,
    Measured.FAILED,
    Measured.NOT_RUN,
)
FLASH = "ScaledDotProductFlashAttentionBackward0"
REFUSAL = {"type": "RuntimeError", "text": "No available kernel.  Aborting execution."}
# What torch 2.13 warns of when float32 is forced into the flash kernel.
CUDA_FP32_WARNINGS = [
    "Memory efficient kernel not used because: (Triggered internally at /p/sdp_utils.cpp:1.)",
    "Memory Efficient attention has been runtime disabled. (Triggered internally at /p/s.h:2.)",
    "Flash attention kernel not used because: (Triggered internally at /p/sdp_utils.cpp:3.)",
    "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float.",
]


def judgement(dtype: str = "fp32", device: str = "cuda:0", **fields: Any) -> CellJudgement:
    line = done(dtype, **{"kernels": [FLASH], **fields})
    return judge().judge(read_account(line + "\n").done[0], device)


def judged(dtype: str = "fp32", device: str = "cuda:0", **fields: Any) -> tuple[Measured, str]:
    found = judgement(dtype, device, **fields)
    return found.measured, found.detail


def raised(text: str, kind: str = "RuntimeError", phase: str = "forward") -> dict[str, Any]:
    return {"exception": {"type": kind, "text": text}, "phase": phase, "kernels": []}


def test_healthy_numbers_pass() -> None:
    measured, detail = judged()
    assert measured is PASSED
    assert detail == "relative error against float64: out 2.0e-07, gradients at most 3.0e-07"


def test_cpu_cell_says_that_no_gpu_ran() -> None:
    assert judged(device="cpu")[1].startswith("on the CPU, not on a GPU: ")


@pytest.mark.parametrize("tensor", ["out", "dq", "dk", "dv"])
def test_error_above_the_limit_fails(tensor: str) -> None:
    errors = {"out": 0.0, "dq": 0.0, "dk": 0.0, "dv": 0.0, tensor: 2e-2}
    measured, detail = judged("bf16", errors=errors)
    assert measured is FAILED
    assert detail.startswith(f"{tensor} is wrong: relative error 2.0e-02")


def test_output_has_a_narrower_limit_than_gradients() -> None:
    error = 1e-2
    assert judged("bf16", errors={"out": 0, "dq": error, "dk": 0, "dv": 0})[0] is PASSED
    assert judged("bf16", errors={"out": error, "dq": 0, "dk": 0, "dv": 0})[0] is FAILED


def test_nan_fails() -> None:
    found = judged(errors={"out": 0.0, "dq": None, "dk": 0.0, "dv": 0.0})
    assert found == (FAILED, "dq holds NaN or infinity")


@pytest.mark.parametrize("name", ["out", "dq", "dk", "dv"])
def test_missing_numbers_fail(name: str) -> None:
    errors = {other: 0.0 for other in ("out", "dq", "dk", "dv") if other != name}
    assert judged(errors=errors) == (FAILED, f"{name} was not reported")


def test_other_kernel_fails_although_the_numbers_are_right() -> None:
    found = judgement(kernels=[FLASH, "UnsafeViewBackward0"])
    assert (found.measured, found.failure) == (FAILED, CellFailure.KERNEL)
    assert "UnsafeViewBackward0" in found.detail


def test_fused_kernel_is_not_the_plain_form() -> None:
    plain = {"backend": "sdpa-math"}
    assert judged(**plain, kernels=["UnsafeViewBackward0"])[0] is PASSED
    assert judged(**plain, kernels=[FLASH])[0] is FAILED
    assert judged(**plain, kernels=[])[0] is FAILED


@pytest.mark.parametrize(
    ("backend", "kernel"),
    [
        ("sdpa-efficient", "ScaledDotProductEfficientAttentionBackward0"),
        ("sdpa-cudnn", "ScaledDotProductCudnnAttentionBackward0"),
    ],
)
def test_every_forced_backend_is_proved(backend: str, kernel: str) -> None:
    assert judged(backend=backend, kernels=[kernel])[0] is PASSED
    assert judged(backend=backend, kernels=[FLASH])[0] is FAILED


def test_other_kernel_on_the_cpu_is_a_lack_of_old_torch() -> None:
    assert judged(device="cpu", kernels=["UnsafeViewBackward0"])[0] is REFUSED


def test_other_kernel_with_wrong_numbers_fails_on_the_cpu_too() -> None:
    errors = {"out": 1.0, "dq": 0.0, "dk": 0.0, "dv": 0.0}
    measured, detail = judged(device="cpu", kernels=["UnsafeViewBackward0"], errors=errors)
    assert measured is FAILED
    assert "out is wrong" in detail
    assert "UnsafeViewBackward0" in detail


def test_kernel_that_autograd_does_not_know_fails() -> None:
    assert judged(kernels=[])[0] is FAILED


def test_refusal_gives_the_reason_and_not_the_headings() -> None:
    found = judgement(exception=REFUSAL, warnings=CUDA_FP32_WARNINGS, kernels=[], phase="forward")
    assert (found.measured, found.rule_id) == (REFUSED, "sdpa-no-available-kernel")
    assert found.detail == (
        "forward: RuntimeError: No available kernel.  Aborting execution.; "
        + CUDA_FP32_WARNINGS[-1]
    )


def test_half_precision_that_old_torch_lacks_on_the_cpu_is_refused() -> None:
    text = "\"baddbmm_with_gemm\" not implemented for 'Half'"
    assert judged(device="cpu", **raised(text))[0] is REFUSED
    assert judged(device="cuda:0", **raised(text))[0] is FAILED


def test_exception_fails_with_phase_type_and_first_line() -> None:
    text = "CUDA error: an illegal memory access was encountered\nCompile with `TORCH_USE_CUDA_DSA`"
    assert judged(**raised(text, "AcceleratorError", "backward")) == (
        FAILED,
        "backward: AcceleratorError: CUDA error: an illegal memory access was encountered",
    )


def test_assertion_without_words_is_told_by_its_line() -> None:
    trace = (
        "Traceback:\n  File 'x.py', line 1, in f\n    assert q.dtype == k.dtype\n           ^^^\n"
    )
    exception = {"type": "AssertionError", "text": "", "trace": trace}
    detail = judged(exception=exception, phase="forward", kernels=[])[1]
    assert detail == "forward: AssertionError: assert q.dtype == k.dtype"


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory. Tried to allocate 2.00 MiB.",
        "CUDA error: all CUDA-capable devices are busy or unavailable",
    ],
)
def test_occupied_gpu_is_not_run_rather_than_failed(text: str) -> None:
    assert judged(**raised(text))[0] is NOT_RUN


GIB = 1 << 30
ROOMY = {"free": 22 * GIB, "total": 24 * GIB, "own": GIB}
FULL = {"free": GIB // 100, "total": 24 * GIB, "own": GIB}


@pytest.mark.parametrize(
    ("asked", "memory", "phase", "measured", "words"),
    [
        ("20.00 MiB", FULL, "forward", NOT_RUN, "others hold 23.0 GiB"),
        ("20.00 MiB", None, "forward", NOT_RUN, "occupied by something else"),
        ("80.00 GiB", ROOMY, "forward", FAILED, "more was asked for than the GPU has (24.0 GiB)"),
        ("80.00 GiB", ROOMY, "backward", FAILED, "more was asked for"),
        ("80.00 GiB", ROOMY, "inputs", NOT_RUN, "more was asked for"),
        ("80.00 GiB", None, "forward", NOT_RUN, "occupied"),
        ("a lot", ROOMY, "forward", NOT_RUN, "occupied"),
    ],
)
def test_too_little_free_is_not_too_large(
    asked: str, memory: Any, phase: str, measured: Measured, words: str
) -> None:
    text = f"CUDA out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of 24 GiB"
    found = judgement(**raised(text, "OutOfMemoryError", phase), memory=memory)
    assert found.measured is measured
    assert words in found.detail


@pytest.mark.parametrize(
    "text",
    [
        "HIP error: invalid device function",
        "HIP error: an illegal memory access was encountered",
        "CUDA driver error: unknown error",
        "CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(`",
        "HIPBLAS_STATUS_INTERNAL_ERROR when calling `hipblasSgemm(`",
    ],
)
def test_error_of_a_device_is_no_refusal_even_of_a_trap(text: str) -> None:
    assert judged("bf16", backend="fa2", case="mixed", **raised(text))[0] is FAILED


def test_output_of_another_dtype_fails() -> None:
    fields: dict[str, Any] = {"backend": "fa2", "kernels": [], "out_dtype": "float32"}
    found = judgement("bf16", **fields)
    assert (found.measured, found.detail) == (FAILED, "the output is float32, not bfloat16")
    assert judged("fp32", **fields)[0] is PASSED
    assert judged("bf16", **{**fields, "case": "fp32-autocast"})[0] is PASSED
    assert judged("fp8", **{**fields, "backend": "fa3", "out_dtype": "bfloat16"})[0] is PASSED


def test_what_was_computed_while_it_was_timed_counts() -> None:
    errors = {"out": 0.0, "dq": 0.0, "dk": 0.0, "dv": 0.0}
    assert judged("bf16", errors={**errors, "timed": 1e-3})[0] is PASSED
    measured, detail = judged("bf16", errors={**errors, "timed": 1e-1})
    assert measured is FAILED
    assert detail.startswith("timed is wrong: relative error 1.0e-01")
    assert judged("bf16", errors={**errors, "timed": None})[1] == "timed holds NaN or infinity"


def test_warnings_of_others_are_no_reasons() -> None:
    """Only torch gives its reasons so: what a worker's own code warned of leaked into details."""
    noise = ["subprocess 22031 is still running", "unclosed file <_io.FileIO name=3>"]
    text = "FlashAttention only support fp16 and bf16 data type"
    detail = judged(backend="fa2", warnings=noise, **raised(text))[1]
    assert detail == f"forward: RuntimeError: {text}"


def test_what_the_package_lacks_is_not_run() -> None:
    found = judged(lacking="this release has no flash_attn_with_kvcache", kernels=[], errors={})
    assert found == (NOT_RUN, "this release has no flash_attn_with_kvcache")


def test_package_that_is_missing_is_not_run_but_a_part_of_it_has_failed() -> None:
    def missing(module: str) -> Measured:
        text = f"No module named {module!r}"
        return judged(backend="fa2", **raised(text, "ModuleNotFoundError", "import"))[0]

    assert missing("flash_attn") is NOT_RUN
    assert missing("flash_attn_2_cuda") is FAILED


@pytest.mark.parametrize(
    ("text", "measured"),
    [
        ("any words at all", REFUSED),
        ("query and key must have the same dtype", REFUSED),
        ("CUDA error: an illegal memory access was encountered", FAILED),
    ],
)
def test_trap_is_refused_by_any_words_but_never_by_a_crash(text: str, measured: Measured) -> None:
    assert judged("bf16", backend="fa2", case="mixed", **raised(text))[0] is measured


def test_poisoned_gpu_is_no_refusal_whatever_it_says() -> None:
    text = "FlashAttention only support fp16 and bf16 data type"
    assert judged(backend="fa2", **raised(text))[0] is REFUSED
    assert judged(backend="fa2", poisoned=True, **raised(text))[0] is FAILED


def test_forward_only_cells_need_no_gradients() -> None:
    errors = {"out": 1e-3, "cache": 0.0}
    assert judged("bf16", backend="fa2", case="kvcache", kernels=[], errors=errors)[0] is PASSED
    assert compared(Backend.FA3, Dtype.FP8, "full", "cuda:0") == ("out",)
    assert compared(Backend.FLEX, Dtype.FP16, "causal", "cpu") == ("out",)
    assert compared(Backend.FLEX, Dtype.FP16, "causal", "cuda:0") == ("out", "dq", "dk", "dv")


def test_detail_is_one_harmless_line() -> None:
    detail = judged(**raised("\x1b[31mred\x1b[0m " + "x" * 5000))[1]
    assert "\x1b" not in detail
    assert len(detail) <= 600


def test_reasons_survive_hostile_warnings() -> None:
    assert kernel_reasons(("(Triggered internally at " * 500, "")) != []


def test_every_dtype_has_limits_and_every_fused_backend_a_kernel() -> None:
    limits = read_limits(shipped())
    assert set(limits) == set(Dtype)
    assert limits[Dtype.FP32].out < limits[Dtype.FP16].out < limits[Dtype.BF16].out
    by = ("_fadoctor_sdpa", "_fadoctor_activated")
    forced = {e.backend for e in CATALOGUE if e.module in by}
    assert forced == {*KERNELS, Backend.SDPA_MATH}


def test_refusals_are_rules_with_symptoms() -> None:
    known = {rule.id for rule in shipped().rules if rule.symptoms}
    assert known >= DECLINES


def test_catalogue_has_every_backend_once_in_the_order_of_reports() -> None:
    """But for flash-attn 1, whose interface is another one and whose last release is of 2023."""
    assert [entry.backend for entry in CATALOGUE] == [b for b in Backend if b is not Backend.FA1]
    with pytest.raises(UsageError, match="fa1 is predicted, but never run: choose one of fa2, fa3"):
        entry_of(Backend.FA1)


def test_a_part_of_another_release_without_what_it_needs_is_not_run() -> None:
    """flash-attn 2.8.3 has the sources of flash_attn.cute; an own package brings what they need."""
    text = "No module named 'cutlass.cute'"
    given = raised(text, "ModuleNotFoundError", "import")
    assert judged("bf16", backend="fa4", **given)[0] is NOT_RUN
    assert judged("bf16", backend="torch-fa4", **{**given, "phase": "load"})[0] is NOT_RUN
    assert judged("bf16", backend="fa3", **given)[0] is FAILED
    other = raised("No module named 'einops'", "ModuleNotFoundError", "import")
    assert judged("bf16", backend="fa4", **other)[0] is FAILED


def test_a_gpu_that_a_kernel_names_as_unsupported_is_a_refusal() -> None:
    given = raised("Unsupported CUDA architecture: sm75", "ValueError")
    assert judged("bf16", backend="hub-sage", **given)[0] is REFUSED
