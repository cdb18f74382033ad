"""The real flash-attn, forward and backward, on the CPU: its Triton kernels in the interpreter.

The interpreter that FADOCTOR_TESTS_FLASH_ATTN names has a flash-attn that was built without CUDA,
and a triton that can read its kernels; docs/smoke.md says how to make one, and CI does. It shows
that the worker calls the public functions rightly and that its references are right; of a GPU it
shows nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import TARGET, choice_of, judge

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.smoke import SmokeCell

pytestmark = [pytest.mark.flash_attn, pytest.mark.slow]

ENVIRON = {"TRITON_INTERPRET": "1", "FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
MENDED = "triton's interpreter multiplies bf16 wrongly; mended for this run"

# Rotary, layer norm and cross entropy ask torch.cuda for devices even for tensors of the CPU.
PRETEND = """
import contextlib, importlib.abc, sys, types
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "flash_attn":
            import torch
            torch.cuda.device = lambda *a: contextlib.nullcontext()
            torch.cuda.current_device = lambda: 0
            torch.cuda.get_device_properties = lambda *a: types.SimpleNamespace(
                warp_size=32, multi_processor_count=4)
sys.meta_path.insert(0, Finder())
"""


def smoke_of(backend: Backend, cases: tuple[str, ...], **more: Any) -> list[SmokeCell]:
    target = msgspec.structs.replace(TARGET, python=os.environ["FADOCTOR_TESTS_FLASH_ATTN"])
    environ = {**os.environ, **ENVIRON, **more.pop("environ", {})}
    choice = choice_of(backend, cases, device="cpu", **more)
    return list(run_smoke(target, environ, run, choice, judge()).cells)


def test_attention_passes_forward_and_backward_in_every_dtype() -> None:
    cells = smoke_of(Backend.FA2, ("full", "causal", "gqa", "varlen", "hdim128"))
    assert {cell.measured for cell in cells} == {Measured.PASSED}
    assert {cell.kernel for cell in cells} == {
        "FlashAttnFuncBackward",
        "FlashAttnVarlenFuncBackward",
    }
    assert all(set(cell.errors) == {"out", "dq", "dk", "dv"} for cell in cells)
    for cell in cells:
        assert cell.notes == ((MENDED,) if cell.dtype is Dtype.BF16 else ())


def test_long_sequence_is_compared_at_some_queries() -> None:
    cells = smoke_of(Backend.FA2, ("long",), dtypes=(Dtype.FP16,))
    assert [(cell.measured, set(cell.errors)) for cell in cells] == [(Measured.PASSED, {"out"})]


def test_decoding_appends_to_the_cache_and_reads_it() -> None:
    cells = smoke_of(Backend.FA2, ("kvcache",))
    assert {cell.measured for cell in cells} == {Measured.PASSED}
    assert all(cell.errors["cache"] == 0 for cell in cells)


def test_mixed_dtypes_are_refused() -> None:
    cells = smoke_of(Backend.FA2, ("mixed",), dtypes=(Dtype.BF16, Dtype.FP16))
    assert {cell.measured for cell in cells} == {Measured.REFUSED}
    assert {cell.rule_id for cell in cells} == {"fa2-mixed-qkv-dtype"}


def test_interpreted_triton_kernel() -> None:
    cells = smoke_of(Backend.TRITON, ("matmul",))
    assert {cell.measured for cell in cells} == {Measured.PASSED}


@pytest.mark.parametrize(
    ("backend", "dtypes"),
    [
        (Backend.FA_ROTARY, (Dtype.BF16, Dtype.FP16, Dtype.FP32)),
        # The interpreter of triton 3.7.1 has no constant of bf16, which this kernel needs.
        (Backend.FA_CROSS_ENTROPY, (Dtype.FP16, Dtype.FP32)),
    ],
)
def test_triton_operators(tmp_path: Path, backend: Backend, dtypes: tuple[Dtype, ...]) -> None:
    (tmp_path / "sitecustomize.py").write_text(PRETEND)
    environ = {"PYTHONPATH": str(tmp_path)}
    cells = smoke_of(backend, ("full",), dtypes=dtypes, environ=environ)
    assert {cell.measured for cell in cells} == {Measured.PASSED}
