"""Why no flash kernel ran, and what a call is said to have run on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from fadoctor import api  # noqa: E402
from tests.trace.models import sdpa  # noqa: E402

pytestmark = pytest.mark.torch


def half(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.bfloat16)


def call_of(run: Any) -> Any:
    with api.trace() as trace:
        run()
    (call,) = trace.document().processes[0].calls
    return call


def test_a_context_that_switches_flash_off() -> None:
    def run() -> None:
        with sdpa_kernel(SDPBackend.MATH):
            sdpa(half(1, 2, 4, 8), half(1, 2, 4, 8), half(1, 2, 4, 8))

    call = call_of(run)
    assert call.backend == "sdpa-math"
    assert call.why_not_flash == ("disabled by context: flash is switched off",)


def test_dropout_on_a_cpu() -> None:
    q = half(1, 2, 4, 8)
    call = call_of(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5))
    assert call.why_not_flash == ("dropout 0.5 on the CPU",)


def mask(*shape: int, gradient: bool = False) -> Any:
    return torch.zeros(*shape, dtype=torch.bfloat16, requires_grad=gradient)


@pytest.mark.parametrize(
    ("shape", "options", "reason"),
    [
        ((1, 2, 4, 8), {"attn_mask": mask(4, 4, gradient=True)}, "mask: it needs a gradient"),
        ((3, 2, 4, 8), {"attn_mask": mask(2, 4, 4)}, "mask: 3 dimensions"),
        ((2, 4, 8), {}, "tensors of 3 dimensions, not 4"),
        ((1, 2, 0, 8), {}, "a tensor is empty"),
    ],
)
def test_what_the_flash_kernel_of_the_cpu_refuses(
    shape: tuple[int, ...], options: dict[str, Any], reason: str
) -> None:
    q = half(*shape)
    call = call_of(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, **options))
    assert call.backend != "sdpa-flash"
    assert call.why_not_flash == (reason,)


def test_a_mask_that_the_flash_kernel_of_the_cpu_takes_is_no_reason() -> None:
    q = half(1, 2, 4, 8)
    functional = torch.nn.functional
    call = call_of(lambda: functional.scaled_dot_product_attention(q, q, q, attn_mask=mask(4, 4)))
    assert (call.backend, call.why_not_flash) == ("sdpa-flash", ())


def test_each_reason_is_of_something_that_is_looked_at() -> None:
    with api.trace() as trace:
        import _fadoctor_trace_refusals as refusals  # noqa: PLC0415
    q = half(1, 2, 4, 8)
    before: Any = SimpleNamespace(
        tensors={"q": q}, entry={"backend": "sdpa"}, autocast=None, owner=None,
        values={"mask": mask(4, 4)}, tracer=trace._tracer,
    )  # fmt: skip
    looks = (refusals._of_tensors, refusals._of_sdpa, refusals._of_framework)
    seen = {name for look in looks for name in look(before)} | {"device", "error"}
    seen |= set(refusals._of_error(None))
    assert {row["sees"] for row in trace._tracer.refusals._rows} == seen


UNTAKEN = """No operator found for `memory_efficient_attention_forward` with inputs:
     query       : shape=(1, 6, 4, 8) (torch.bfloat16)
     p           : 0.0
`fa2F@0.0.0` is not supported because:
    device=cpu (supported: {'cuda'})
    operator wasn't built - see `python -m xformers.info` for more info
`cutlassF-blackwell` is not supported because:
    device=cpu (supported: {'cuda'})"""


def test_reasons_that_an_error_lists() -> None:
    with api.trace():
        import _fadoctor_trace_refusals as refusals  # noqa: PLC0415
    listed = ["device=cpu", "operator wasn't built - see `python -m xformers.info` for more info"]
    assert refusals._of_error(NotImplementedError(UNTAKEN)) == {"operators": listed}
    assert refusals._of_error(RuntimeError("one line\n  and one below")) == {"operators": []}


def test_float32_alone_is_no_reason_on_a_cpu() -> None:
    q = torch.randn(1, 2, 4, 8)
    call = call_of(lambda: sdpa(q, q, q))
    assert (call.backend, call.why_not_flash) == ("sdpa-flash", ())


@pytest.mark.parametrize(
    ("setting", "backend"),
    [
        ("flash_attention_2", "fa2"),
        ("flash_attention_3", "fa3"),
        ("kernels-community/flash-attn", "hub-fa2"),
        ("kernels-community/flash-attn3", "hub-fa3"),
        ("mine", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_backend_that_a_setting_names(setting: str | None, backend: str) -> None:
    with api.trace():  # which loads the modules of the tracer
        import _fadoctor_trace_why as why  # noqa: PLC0415
    assert why._by_setting(SimpleNamespace(_attn_implementation=setting)) == backend
