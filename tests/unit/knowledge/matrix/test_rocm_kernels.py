"""What backends do on AMD's GPUs: cells that were held against sources by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.kernels import Kernels, visible_gpus
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.verdict import Backend, Dtype
from tests.unit.judging.engine.builders import environment, shipped

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.support import Support

MATRIX = Matrix(shipped().tables)
SWITCH = {"env.TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": "1"}
TRITON = {"env.FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
NONE: dict[str, Any] = {}


def support(gfx: str, cell: str, aotriton: str = "", **facts: Any) -> Support:
    backend, dtype = cell.split()
    said: dict[str, Any] = {
        "gpu.count": 1, "gpu[0].vendor": "amd", "gpu[0].visible": True, "gpu[0].gfx": gfx,
        "gpu[0].isa": gfx, "torch.version": "2.13.0+rocm7.2", "torch.hip": "7.2",
    }  # fmt: skip
    if aotriton:
        said["torch.aotriton"] = aotriton
    here = environment({**said, **facts})
    return Kernels(here, MATRIX).support(Backend(backend), Dtype(dtype), visible_gpus(here)[0])


def answer(found: Support) -> str:
    return str(found.answer.value) if isinstance(found.answer, Known) else "unknown"


@pytest.mark.parametrize(
    ("gfx", "aotriton", "cell", "facts", "expected"),
    [
        # string_to_classifier and isArchExperimentallySupported of AOTriton at its tags
        ("gfx90a", "0.6.0", "sdpa-flash bf16", NONE, "works"),
        ("gfx942", "0.6.0", "sdpa-flash fp16", NONE, "works"),
        ("gfx942", "0.12.0", "sdpa-flash bf16", NONE, "works"),
        ("gfx942", "0.12.0", "sdpa-flash fp32", NONE, "fails"),
        ("gfx942", "0.12.0", "sdpa-efficient fp32", NONE, "works"),
        ("gfx942", "0.12.0", "sdpa-efficient bf16", NONE, "works"),
        ("gfx908", "0.13.0", "sdpa-flash bf16", NONE, "fails"),
        ("gfx908", "0.13.0", "sdpa-efficient fp32", NONE, "fails"),
        ("gfx906", "0.11.0", "sdpa-flash fp16", NONE, "fails"),
        ("gfx1030", "0.12.0", "sdpa-efficient fp16", NONE, "fails"),
        ("gfx950", "0.8.0", "sdpa-flash bf16", NONE, "fails"),
        ("gfx950", "0.9.2", "sdpa-flash bf16", NONE, "fails"),
        ("gfx950", "0.9.2", "sdpa-flash bf16", SWITCH, "works"),
        ("gfx950", "0.10.0", "sdpa-flash bf16", NONE, "works"),
        ("gfx1201", "0.9.2", "sdpa-efficient bf16", NONE, "fails"),
        ("gfx1201", "0.10.0", "sdpa-efficient bf16", NONE, "works"),
        ("gfx1100", "0.7.0", "sdpa-flash bf16", NONE, "fails"),
        ("gfx1100", "0.7.0", "sdpa-flash bf16", SWITCH, "works"),
        ("gfx1100", "0.10.0", "sdpa-flash bf16", NONE, "works"),
        ("gfx1100", "0.11.0", "sdpa-flash bf16", NONE, "fails"),
        ("gfx1100", "0.11.0", "sdpa-flash bf16", SWITCH, "works"),
        ("gfx1100", "0.11.1", "sdpa-flash bf16", NONE, "works"),
        ("gfx1101", "0.10.0", "sdpa-flash bf16", NONE, "fails"),
        ("gfx1101", "0.12.0", "sdpa-flash bf16", SWITCH, "works"),
        ("gfx1102", "0.10.0", "sdpa-flash fp16", SWITCH, "fails"),
        ("gfx1102", "0.11.0", "sdpa-flash fp16", SWITCH, "works"),
        ("gfx1103", "0.11.0", "sdpa-flash fp16", SWITCH, "fails"),
        ("gfx1103", "0.11.1", "sdpa-flash fp16", SWITCH, "works"),
        ("gfx1151", "0.10.0", "sdpa-flash bf16", SWITCH, "fails"),
        ("gfx1151", "0.11.2", "sdpa-flash bf16", NONE, "fails"),
        ("gfx1151", "0.12.0", "sdpa-flash bf16", NONE, "works"),
        ("gfx1200", "0.10.0", "sdpa-flash bf16", SWITCH, "fails"),
        ("gfx1200", "0.12.0", "sdpa-flash bf16", SWITCH, "works"),
        ("gfx1250", "0.13.0", "sdpa-flash bf16", NONE, "unknown"),
        # can_use_cudnn_attention and select_sdp_backend of torch
        ("gfx942", "0.12.0", "sdpa-cudnn bf16", NONE, "fails"),
        ("gfx1100", "0.12.0", "sdpa-math fp16", NONE, "works"),
        # allowed_archs, dtypes and is_rdna of flash-attn
        ("gfx942", "", "fa2 bf16", {"flash_attn.version": "2.8.3"}, "works"),
        ("gfx942", "", "fa2 fp32", {"flash_attn.version": "2.8.3"}, "fails"),
        ("gfx942", "", "fa2 fp32", {"flash_attn.version": "2.8.3", **TRITON}, "works"),
        ("gfx950", "", "fa2 bf16", {"flash_attn.version": "2.7.4"}, "fails"),
        ("gfx950", "", "fa2 bf16", {"flash_attn.version": "2.8.3"}, "works"),
        ("gfx1100", "", "fa2 fp16", {"flash_attn.version": "2.8.3"}, "fails"),
        ("gfx1100", "", "fa2 fp16", {"flash_attn.version": "2.8.3", **TRITON}, "works"),
        ("gfx90a", "", "fa2 fp16", {"flash_attn.version": "2.7.3"}, "works"),
        ("gfx1010", "", "fa2 fp32", {"flash_attn.version": "2.7.3"}, "fails"),
        ("gfx1151", "", "fa2 bf16", {"flash_attn.version": "2.7.3"}, "fails"),
        ("gfx1102", "", "fa2 bf16", {"flash_attn.version": "2.6.3"}, "fails"),
        ("gfx942", "", "fa2 bf16", {"flash_attn.version": "2.7.3", **TRITON}, "works"),
        ("gfx908", "", "fa2 fp16", {"flash_attn.version": "2.7.1", **TRITON}, "unknown"),
        ("gfx950", "", "fa2 fp32", {"flash_attn.version": "2.8.0", **TRITON}, "unknown"),
        ("gfx1151", "", "fa2 fp16", {"flash_attn.version": "2.8.3", **TRITON}, "unknown"),
        # TARGET_GPUS of AOTriton 0.8, and gfx1100 no longer experimental
        ("gfx1100", "0.8.0", "sdpa-flash bf16", NONE, "works"),
        ("gfx1101", "0.8.0", "sdpa-flash bf16", NONE, "unknown"),
        ("gfx1152", "0.11.1", "sdpa-flash bf16", SWITCH, "fails"),
        ("gfx1153", "0.12.0", "sdpa-efficient fp16", SWITCH, "works"),
        ("gfx1103", "0.12.1", "sdpa-efficient bf16", NONE, "fails"),
        # HIP_ARCHITECTURES of xformers' wheels
        ("gfx90a", "", "xformers fp16", {"xformers.version": "0.0.33"}, "works"),
        ("gfx1200", "", "xformers fp16", {"xformers.version": "0.0.30"}, "unknown"),
        # compiled with triton 3.7.1, without a GPU
        ("gfx906", "", "triton fp16", {"triton.version": "3.7.1"}, "fails"),
        ("gfx908", "", "triton fp16", {"triton.version": "3.7.1"}, "unknown"),
        ("gfx1030", "", "triton bf16", {"triton.version": "3.7.1"}, "unknown"),
        ("gfx1201", "", "triton bf16", {"triton.version": "3.8.0"}, "works"),
        ("gfx1201", "", "triton bf16", {"triton.version": "3.10.0"}, "unknown"),
        ("gfx1200", "", "fa-cross-entropy fp32", {"flash_attn.version": "2.8.0"}, "works"),
        ("gfx908", "", "fa-rotary bf16", {"flash_attn.version": "2.8.3"}, "unknown"),
        # flex_attention's tests and configurations
        ("gfx90a", "", "flex bf16", NONE, "works"),
        ("gfx1100", "", "flex bf16", NONE, "unknown"),
        # the main branch of flash-attn in hopper/
        ("gfx942", "", "fa3 bf16", {"flash_attn_3.version": "3.0.0b1"}, "fails"),
        ("gfx942", "", "fa3 bf16", {"flash_attn_3.version": "3.0.0"}, "unknown"),
        # get_flash_attn_version of vLLM, SUPPORTED_DTYPES of xformers
        ("gfx942", "", "vllm-fa bf16", {"vllm.version": "0.14.0"}, "fails"),
        ("gfx942", "", "xformers fp32", {"xformers.version": "0.0.33"}, "fails"),
    ],
)
def test_cells_against_their_sources(
    gfx: str, aotriton: str, cell: str, facts: dict[str, Any], expected: str
) -> None:
    assert answer(support(gfx, cell, aotriton, **facts)) == expected


def test_the_variable_is_named_where_it_would_help() -> None:
    found = support("gfx1100", "sdpa-flash bf16", "0.11.0")
    assert "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1" in found.note
    assert found.rule == "rocm-sdpa-flash-unavailable"


def test_what_holds_for_each_of_two_releases_holds() -> None:
    either = Unknown("AOTriton 0.11.0 or 0.11.1", "test", ("0.11.0", "0.11.1"))
    facts: dict[str, Any] = {"torch.aotriton": either}
    assert answer(support("gfx942", "sdpa-flash bf16", **facts)) == "works"
    assert answer(support("gfx1100", "sdpa-flash bf16", **facts)) == "unknown"


def test_a_gpu_that_passes_for_another_is_no_promise() -> None:
    facts: dict[str, Any] = {"gpu[0].gfx": "gfx1101", "gpu[0].isa": "gfx1100"}
    assert answer(support("gfx1101", "sdpa-flash bf16", "0.12.0", **facts)) == "unknown"
    assert answer(support("gfx1101", "sdpa-flash fp32", "0.12.0", **facts)) == "fails"


def test_a_torch_for_cuda_does_nothing_here() -> None:
    facts: dict[str, Any] = {"torch.version": "2.13.0", "torch.hip": None, "torch.cuda": "13.0"}
    found = support("gfx942", "sdpa-math fp16", **facts)
    assert answer(found) == "fails"
    assert answer(support("gfx942", "sdpa-math fp8", **facts)) == "unknown"


def test_another_preference_of_torch_is_another_matter() -> None:
    facts = {"env.TORCH_ROCM_FA_PREFER_CK": "1"}
    assert answer(support("gfx942", "sdpa-flash bf16", "0.12.0", **facts)) == "unknown"


@pytest.mark.parametrize(
    ("gfx", "aotriton", "cell", "facts", "says"),
    [
        ("gfx1201", "0.8.0", "sdpa-flash bf16", NONE, "since 0.9, in torch 2.7"),
        ("gfx1151", "0.10.0", "sdpa-efficient fp32", NONE, "since 0.11, in torch 2.9"),
        ("gfx1030", "0.12.0", "sdpa-flash bf16", NONE, "torch computes with sdpa-math"),
        ("gfx1100", "", "fa2 bf16", {"flash_attn.version": "2.8.3"}, "AMD_ENABLE=TRUE"),
        ("gfx1100", "", "fa2 bf16", {"flash_attn.version": "2.6.3"}, "flash-attn 2.7.1 or newer"),
        ("gfx950", "", "fa2 bf16", {"flash_attn.version": "2.7.4"}, "since 2.8.0"),
        ("gfx1151", "", "fa2 bf16", {"flash_attn.version": "2.8.3"}, "ask for torch's sdpa"),
        ("gfx942", "", "sdpa-cudnn bf16", NONE, "no cuDNN attention"),
    ],
)
def test_a_cell_that_fails_says_what_is_missing_and_how_to_get_it(
    gfx: str, aotriton: str, cell: str, facts: dict[str, Any], says: str
) -> None:
    found = support(gfx, cell, aotriton, **facts)
    assert answer(found) == "fails"
    assert says in found.note


def test_a_gpu_for_which_torch_may_have_no_code_is_no_promise() -> None:
    """It was "works" in sdpa-math, and no source said whether that torch has code for gfx1103."""
    facts: dict[str, Any] = {"torch.rocm_unsure": ("gfx1103",)}
    found = support("gfx1103", "sdpa-math fp16", "0.12.0", **facts)
    assert answer(found) == "unknown"
    assert isinstance(found.answer, Unknown)
    assert "has code for gfx1103" in found.answer.reason
    assert answer(support("gfx1100", "sdpa-math fp16", "0.12.0", **facts)) == "works"
    assert answer(support("gfx1103", "sdpa-cudnn fp16", "0.12.0", **facts)) == "fails"
