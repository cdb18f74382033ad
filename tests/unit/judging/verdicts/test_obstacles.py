"""What the facts alone hold against a backend."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.verdicts.obstacles import obstacle
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.verdict import Backend, Predicted
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, shipped

THERE = {
    "torch.version": "2.8.0",
    "torch.binary.file": "$site/torch/_C.so",
    "torch.binary.failure": ABSENT,
    "triton.version": "3.4.0",
    "triton.binary.file": "$site/triton/_C/libtriton.so",
    "flash_attn.version": "2.8.3",
    "flash_attn.binary.file": "$site/flash_attn_2_cuda.so",
    "flash_attn.binary.failure": ABSENT,
    "xformers.version": "0.0.32",
    "xformers.binary.file": "$site/xformers/_C.so",
    "flash_attn_4.version": "4.0.0b36",
}


VLLM_FILES = ("vllm.fa2.file", "vllm.fa3.file", "vllm_flash_attn.binary.file")


def found(backend: Backend, facts: dict[str, Any]) -> tuple[str, str]:
    world = environment({**THERE, **facts})
    held = obstacle(world, Kernels(world, Matrix(shipped().tables)), backend)
    return (held.predicted.value, held.detail) if held else ("", "")


@pytest.mark.parametrize("backend", [Backend.FA2, Backend.FA4, Backend.SDPA_FLASH, Backend.FLEX])
def test_nothing_is_held_against_what_is_there(backend: Backend) -> None:
    assert found(backend, {}) == ("", "")


@pytest.mark.parametrize(
    ("backend", "facts", "detail"),
    [
        (Backend.FA2, {"torch.version": ABSENT}, "needs torch, which is not installed"),
        (Backend.FLEX, {"triton.version": ABSENT}, "needs triton, which is not installed"),
        (
            Backend.FA2,
            {
                "flash_attn.binary.failure": "missing-version",
                "flash_attn.binary.says": "GLIBC_2.99",
            },
            "flash-attn does not load: GLIBC_2.99",
        ),
        (Backend.FA2, {"flash_attn.loads": False}, "flash-attn does not load"),
        (Backend.FA4, {"torch.binary.failure": "truncated"}, "torch does not load: truncated"),
    ],
)
def test_what_makes_it_fail(backend: Backend, facts: dict[str, Any], detail: str) -> None:
    assert found(backend, facts) == ("fails", detail)


@pytest.mark.parametrize(
    ("backend", "facts", "part"),
    [
        (Backend.FA2, {"flash_attn.binary.file": ABSENT}, "without its compiled extension"),
        (Backend.FA2, {"torch.version": UNREAD}, "could not be read"),
        (Backend.FA2, {"flash_attn.unmet": {"einops": "(not installed)"}}, "requires einops (not"),
        (Backend.FA4, {"flash_attn_4.unmet": UNREAD}, "could not be read"),
        (
            Backend.VLLM_FA,
            dict.fromkeys(
                ("vllm.fa2.file", "vllm.fa3.file", "vllm_flash_attn.binary.file"), ABSENT
            ),
            "no compiled extension of vLLM's FlashAttention",
        ),
        (Backend.FLEX, {"torch.unmet": {"sympy": "(not installed)"}}, "requires sympy"),
    ],
)
def test_what_leaves_it_unknown(backend: Backend, facts: dict[str, Any], part: str) -> None:
    predicted, detail = found(backend, facts)
    assert predicted == Predicted.UNKNOWN.value
    assert part in detail


@pytest.mark.parametrize("name", ["triton", "nvidia-cudnn-cu12", "sympy"])
def test_what_a_backend_runs_without_is_not_held_against_it(name: str) -> None:
    assert found(Backend.SDPA_FLASH, {"torch.unmet": {name: "(not installed)"}}) == ("", "")
    assert found(Backend.SDPA_FLASH, {"torch.unmet": {"numpy": "(not installed)"}}) != ("", "")


def test_a_part_that_a_package_does_without_is_not_held_against_it() -> None:
    facts = {
        "xformers.binary.optional": True,
        "xformers.binary.failure": "missing-library",
        "xformers.loads": False,
    }
    assert found(Backend.XFORMERS, facts) == ("", "")
    assert found(Backend.XFORMERS, {**facts, "xformers.binary.optional": ABSENT})[0] == "fails"
