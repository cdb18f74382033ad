"""Why no flash kernel ran, and what a call is said to have run on."""

from __future__ import annotations

import ctypes
import subprocess
import warnings
from pathlib import Path
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
        grouped=False,
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


def test_grouped_heads_that_fit_are_no_reason() -> None:
    q, k = half(1, 4, 8, 16), half(1, 2, 8, 16)
    functional = torch.nn.functional

    def run(**more: Any) -> Any:
        return call_of(
            lambda: functional.scaled_dot_product_attention(q, k, k, enable_gqa=True, **more)
        )

    assert run().why_not_flash == ()
    assert run(dropout_p=0.1).why_not_flash == ("dropout 0.1 on the CPU",)


def on_a_gpu(**more: Any) -> Any:
    """Return what is known of a call on a GPU, whose tensors lie elsewhere."""
    q = half(1, 4, 8, 16)
    known = {"tensors": dict.fromkeys("qkv", q), "entry": {"backend": "sdpa"}, "autocast": None,
             "values": {"mask": None, "causal": True, "dropout": None}, "grouped": True,
             "device": torch.device("cuda"), "owner": None, "scale": None}  # fmt: skip
    return SimpleNamespace(**{**known, **more})


def test_torch_is_asked_with_the_flags_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with api.trace():
        import _fadoctor_trace_why as why  # noqa: PLC0415
    given: list[Any] = []

    def says(params: Any, debug: bool) -> bool:  # noqa: FBT001
        warnings.warn(
            "Flash attention is too tired (Triggered internally at x.cpp:1)", stacklevel=2
        )
        return debug and params is None

    monkeypatch.setattr(torch.backends.cuda, "SDPAParams", lambda *all_: given.append(all_))
    monkeypatch.setattr(torch.backends.cuda, "can_use_flash_attention", says)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert why.reasons(on_a_gpu()) == ["Flash attention is too tired"]
    assert given[0][3:] == (None, 0.0, True, True)


def test_cudnn_is_no_slow_path() -> None:
    with api.trace() as trace:
        import _fadoctor_trace_refusals as refusals  # noqa: PLC0415
    before = on_a_gpu(tracer=trace._tracer, values={"mask": mask(4, 4)})
    assert refusals.why_not(before, "sdpa-cudnn", None) == []
    assert "mask: a tensor" in refusals.why_not(before, "sdpa-efficient", None)


def warn_here() -> None:
    warnings.warn("said once", stacklevel=1)


def test_warnings_are_neither_doubled_nor_lost() -> None:
    """Torch warns of what no kernel takes; it is asked after the call, in silence."""
    q = half(1, 2, 4, 8)
    with warnings.catch_warnings(record=True) as caught, api.trace() as trace:
        warnings.simplefilter("default")
        tracer = trace._tracer
        assert tracer is not None
        choose = tracer.choose

        def loud(*given: Any, **more: Any) -> Any:
            import _fadoctor_trace_why as why  # noqa: PLC0415

            exec("import warnings; warnings.warn('no kernel')", vars(why))  # noqa: S102
            return choose(*given, **more)

        tracer.choose = loud
        warn_here()
        with torch.no_grad():
            sdpa(q, q, q)
        warn_here()
    assert [str(each.message) for each in caught] == ["said once"]
    (call,) = trace.document().processes[0].calls
    assert call.backend == "sdpa-flash"


_WARNS = """
#include <c10/util/Exception.h>
extern "C" bool ask() { TORCH_WARN("Got Query.size(-1): 512 instead."); return false; }
"""


@pytest.mark.gcc
@pytest.mark.long
def test_what_torch_warns_of_without_a_handler_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Torch's question about flash is bound so: its reasons went to the patient's stderr."""
    with api.trace():
        import _fadoctor_trace_quiet as quiet  # noqa: PLC0415
    source, library = tmp_path / "warns.cpp", tmp_path / "warns.so"
    source.write_text(_WARNS, encoding="utf-8")
    root = Path(torch.__file__).parent
    argv = ["g++", "-shared", "-fPIC", "-std=c++20", f"-I{root / 'include'}", str(source),
            "-o", str(library), f"-L{root / 'lib'}", "-lc10"]  # fmt: skip
    subprocess.run(argv, check=True)
    ask = ctypes.PyDLL(str(library)).ask
    _, lost = quiet.heard(ask)
    assert lost == []
    assert "512" in capfd.readouterr().err
    answer, said = quiet.heard(lambda: quiet.warned_in_python(ask))
    assert answer == 0
    assert [each.split(" (Trig")[0] for each in said] == ["Got Query.size(-1): 512 instead."]
    assert capfd.readouterr().err == ""


def test_stand_in_for_autocast_takes_no_memory() -> None:
    with api.trace():
        import _fadoctor_trace_why as why  # noqa: PLC0415
    whole = torch.randn(2, 3, 4, 8)
    part = whole[1:, :, 1:].transpose(1, 2)
    found = why._as_cast(part, "bfloat16")
    assert (found.dtype, found.shape, found.stride()) == (
        torch.bfloat16, part.shape, part.stride()
    )  # fmt: skip
    assert found.data_ptr() == part.data_ptr()
    assert whole.untyped_storage().nbytes() == whole.numel() * 4
    assert why._as_cast(part, "float32") is part
    small = part.half()
    assert why._as_cast(small, "float32") is small
