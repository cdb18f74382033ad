"""Which cells are run, where, and why others are not: from facts alone."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.smoke_catalogue import TRAPS
from fadoctor.model.verdict import Backend, Dtype
from fadoctor.proof.smoke.choice import CUDA, CellChoice, CellsRequest, choose
from tests.smoke.smoke_recordings import complete, shipped
from tests.unit.judging.engine.builders import environment

TORCH = {"torch.version": "2.8.0"}
GPU = {"gpu.count": 1, "gpu[0].visible": True, "gpu[0].compute_capability": "9.0"}


def chosen(facts: dict[str, Any], doomed: Any = None, **wanted: Any) -> CellChoice:
    kernels = Kernels(environment(complete(facts)), Matrix(shipped().tables))
    return choose(CellsRequest(**wanted), kernels, doomed)


def backends(choice: CellChoice, kind: str) -> list[str]:
    return list(dict.fromkeys(key.backend.value for key in choice.on[kind].cells))


def reasons(choice: CellChoice, kind: str) -> dict[str, str]:
    return {left.cell.backend.value: left.reason for left in choice.on[kind].left_out}


def test_cpu_has_what_torch_has_kernels_for() -> None:
    found = chosen(TORCH)
    assert found.expected == "cpu"
    assert backends(found, "cpu") == ["sdpa-flash", "sdpa-math"]
    assert reasons(found, "cpu")["sdpa-efficient"] == "runs on a GPU only"
    assert "torch.compile takes many seconds" in reasons(found, "cpu")["flex"]


def test_gpu_has_what_is_installed_and_quick() -> None:
    facts = {**TORCH, **GPU, "flash_attn.version": "2.8.3", "vllm.version": "0.11.0"}
    found = chosen(facts)
    assert found.expected == CUDA
    assert backends(found, CUDA)[:3] == ["fa2", "sdpa-flash", "sdpa-efficient"]
    why = reasons(found, CUDA)
    assert why["fa3"] == "flash-attn-3 is not installed"
    assert why["xformers"] == "xformers is not installed"
    assert why["vllm-fa"].startswith("importing vllm takes many seconds")


def test_release_from_before_a_backend_is_too_old() -> None:
    found = chosen({**TORCH, "flash_attn.version": "2.2.0"})
    assert reasons(found, CUDA)["fa-layer-norm"] == "flash-attn is too old"


def test_interpreter_of_triton_lends_a_cpu_to_triton_and_flash_attn() -> None:
    facts = {**TORCH, "triton.version": "3.7.1", "flash_attn.version": "2.8.3"}
    interpreted = {**facts, "env.TRITON_INTERPRET": "1"}
    amd = {**interpreted, "env.FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
    assert "triton" not in backends(chosen(facts), "cpu")
    assert {"triton", "fa2"} & set(backends(chosen(interpreted), "cpu")) == {"triton"}
    assert "fa2" in backends(chosen(amd), "cpu")


def test_named_backend_is_tried_whatever_the_metadata_say() -> None:
    found = chosen(TORCH, backends=(Backend.FA4,))
    assert backends(found, CUDA) == ["fa4"]
    assert reasons(found, "cpu") == {"fa4": "runs on a GPU only"}


def test_default_dtypes_leave_eight_bits_out() -> None:
    facts = {**TORCH, "flash_attn_3.version": "3.0.0"}

    def dtypes(**wanted: Any) -> set[Dtype]:
        cells = chosen(facts, backends=(Backend.FA3,), **wanted).on[CUDA].cells
        return {key.dtype for key in cells}

    assert dtypes() == {Dtype.BF16, Dtype.FP16, Dtype.FP32}
    assert dtypes(thorough=True) == set(Dtype)
    assert dtypes(dtypes=(Dtype.FP8,)) == {Dtype.FP8}


def test_eight_bits_where_nothing_has_them() -> None:
    found = chosen(TORCH, dtypes=(Dtype.FP8,), backends=(Backend.SDPA_FLASH,))
    assert found.on["cpu"].cells == ()
    assert reasons(found, "cpu") == {"sdpa-flash": "it has no fp8 kernels"}


def test_traps_are_thorough_and_for_half_precision() -> None:
    plain = chosen(TORCH).on["cpu"].cells
    assert not {key.case for key in plain} & set(TRAPS)
    cells = chosen(TORCH, thorough=True).on["cpu"].cells
    trapped = {key.dtype for key in cells if key.case in TRAPS}
    assert trapped == {Dtype.BF16, Dtype.FP16}


def test_what_is_doomed_is_left_out_on_gpus_alone() -> None:
    doomed = {(Backend.SDPA_FLASH, Dtype.BF16): "predicted to fail"}
    found = chosen({**TORCH, **GPU}, doomed)
    assert ("sdpa-flash", "predicted to fail") in reasons(found, CUDA).items()
    assert Backend.SDPA_FLASH in {k.backend for k in found.on[CUDA].cells if k.dtype is Dtype.FP16}
    assert "sdpa-flash" not in reasons(found, "cpu")


@pytest.mark.parametrize(
    ("device", "facts", "expected"),
    [
        ("auto", TORCH, "cpu"),
        ("auto", {**TORCH, **GPU}, CUDA),
        ("cpu", {**TORCH, **GPU}, "cpu"),
        ("cuda:3", TORCH, CUDA),
        ("all", TORCH, CUDA),
    ],
)
def test_kind_of_device_that_is_expected(device: str, facts: dict[str, Any], expected: str) -> None:
    assert chosen(facts, device=device).expected == expected
