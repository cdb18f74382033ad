"""What kernels can do below Ampere, by what was compiled for it, and what they need beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.kernels import Gpu, Kernels, visible_gpus
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.verdict import Backend, Dtype
from tests.unit.judging.engine.builders import environment, shipped
from tests.unit.judging.engine.kernel_tables import kernels, on

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.support import Support


def answer(found: Support) -> str:
    return "?" if isinstance(found.answer, Unknown) else "works" if found.works else "fails"


def support(capability: str, triton: str, backend: Backend, dtype: Dtype) -> Support:
    facts = on(capability, triton__version=triton, flash_attn__version="2.8.3")
    asked = Kernels(environment(facts), Matrix(shipped().tables))
    return asked.support(backend, dtype, visible_gpus(asked.environment)[0])


TRITON_KERNELS = (Backend.FA_ROTARY, Backend.FA_LAYER_NORM, Backend.FA_CROSS_ENTROPY)


@pytest.mark.parametrize("capability", ["7.0", "7.5"])
@pytest.mark.parametrize(
    ("triton", "wanted"), [("3.1.0", "fails"), ("3.2.0", "fails"), ("3.3.1", "?"), ("3.9.0", "?")]
)
def test_bf16_in_triton_kernels_of_flash_attn(capability: str, triton: str, wanted: str) -> None:
    for backend in TRITON_KERNELS:
        found = support(capability, triton, backend, Dtype.BF16)
        assert answer(found) == wanted
        assert found.rule == ("bf16-unsupported-gpu" if wanted == "fails" else "")


@pytest.mark.parametrize(
    ("capability", "triton", "dtype", "wanted"),
    [
        ("7.5", "3.2.0", Dtype.BF16, "fails"),
        ("7.5", "3.2.0", Dtype.FP16, "works"),
        ("7.5", "3.2.0", Dtype.FP32, "?"),
        ("7.0", "3.2.0", Dtype.FP32, "works"),
        ("7.5", "3.3.1", Dtype.FP16, "?"),
        ("7.0", "3.3.1", Dtype.BF16, "?"),
        ("7.5", "3.6.0", Dtype.BF16, "?"),
        ("8.0", "3.2.0", Dtype.BF16, "works"),
    ],
)
def test_triton_below_ampere(capability: str, triton: str, dtype: Dtype, wanted: str) -> None:
    assert answer(support(capability, triton, Backend.TRITON, dtype)) == wanted


@pytest.mark.parametrize("backend", [Backend.FLEX, Backend.SDPA_MATH])
def test_what_runs_slowly_does_not_fail(backend: Backend) -> None:
    found = support("7.5", "3.6.0", backend, Dtype.BF16)
    assert isinstance(found.answer, Unknown)
    assert "slow" in found.answer.reason


@pytest.mark.parametrize(("triton", "wanted"), [("2.1.0", "fails"), ("3.2.0", "works")])
def test_what_a_backend_needs_can_fail_it(triton: str, wanted: str) -> None:
    asked = kernels(on("8.0", triton__version=triton))
    gpu: Gpu = visible_gpus(asked.environment)[0]
    assert answer(asked.support(Backend.FA_ROTARY, Dtype.BF16, gpu)) == wanted


@pytest.mark.parametrize(
    ("system", "torch", "wanted"),
    [
        ("windows", "2.1.2", "works"),
        ("windows", "2.2.0", "fails"),
        ("windows", "2.4.1+cu124", "fails"),
        ("windows", "2.12.1", "fails"),
        ("windows", "2.13.0", "?"),
        ("linux", "2.4.1+cu124", "works"),
        (None, "2.4.1+cu124", "works"),
    ],
)
def test_the_flash_backend_of_torch_on_windows(system: str | None, torch: str, wanted: str) -> None:
    facts = on("8.9", host__os=system, torch__version=torch)
    asked = Kernels(environment(facts), Matrix(shipped().tables))
    gpu = visible_gpus(asked.environment)[0]
    found = asked.support(Backend.SDPA_FLASH, Dtype.BF16, gpu)
    assert answer(found) == wanted
    assert found.rule == ("sdpa-flash-not-in-build" if wanted == "fails" else "")
    assert answer(asked.support(Backend.SDPA_EFFICIENT, Dtype.BF16, gpu)) == "works"
    eight = asked.support(Backend.SDPA_FLASH, Dtype.FP8, gpu)
    assert not isinstance(eight.answer, Known), "no system adds a dtype"


@pytest.mark.parametrize(
    ("capability", "triton", "wanted"),
    [
        ("10.0", "3.7.1", "works"),
        ("10.0", "3.2.0", "?"),
        ("10.3", "3.5.1", "?"),
        ("10.3", "3.6.0", "works"),
        ("12.0", "3.4.0", "works"),
        ("12.1", "3.5.1", "?"),
        ("12.1", "3.7.1", "works"),
        ("11.0", "3.7.1", "?"),
    ],
)
def test_triton_kernels_on_blackwell_need_a_triton_that_knows_it(
    capability: str, triton: str, wanted: str
) -> None:
    for backend in TRITON_KERNELS:
        assert answer(support(capability, triton, backend, Dtype.BF16)) == wanted


@pytest.mark.parametrize(
    ("capability", "torch", "wanted"),
    [
        ("9.0", "2.15.0", "works"),
        ("12.0", "2.15.0", "works"),
        ("12.1", "2.15.0", "works"),
        ("12.1", "2.14.0", "?"),
        ("10.3", "2.15.0", "?"),
        ("11.0", "2.15.0", "?"),
    ],
)
def test_flex_where_a_run_was_read(capability: str, torch: str, wanted: str) -> None:
    facts = on(capability, torch__version=torch)
    asked = Kernels(environment(facts), Matrix(shipped().tables))
    found = asked.support(Backend.FLEX, Dtype.BF16, visible_gpus(asked.environment)[0])
    assert answer(found) == wanted
