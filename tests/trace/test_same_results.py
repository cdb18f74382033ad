"""A traced step gives the very bits of a bare one, and leaves nothing behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

from fadoctor import api  # noqa: E402
from tests.trace import models, reported_shapes, scenes, standin  # noqa: E402
from tests.work import examples  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _flash_attn() -> Iterator[None]:
    yield from standin.installed()


@pytest.mark.property
@settings(
    max_examples=examples(25), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    seed=st.integers(0, 99),
    plan=st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in scenes.CHOICES.items()}
    ),
    calls=st.sampled_from([1, 64]),
)
def test_traced_and_bare_give_the_same_bits(seed: int, plan: dict[str, Any], calls: int) -> None:
    bare = scenes.step(seed, plan)
    with api.trace(calls=calls) as trace:
        traced = scenes.step(seed, plan)
    assert traced == bare
    assert trace.document().processes[0].faults == ()


def test_fast_paths_of_torch_stay_fast_paths() -> None:
    """With a mode in sight the encoder would leave its fused kernel, and round otherwise."""
    layer = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 16)
    with torch.no_grad():
        bare = layer(x)
        with api.trace() as trace:
            traced = layer(x)
    assert torch.equal(bare, traced)
    (call,) = trace.document().processes[0].calls
    assert (call.entry, call.backend) == ("torch._transformer_encoder_layer_fwd", "unknown")
    assert call.module_class == "TransformerEncoderLayer"


def test_multihead_attention_in_evaluation_is_told_at_its_edge() -> None:
    layer = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 16)
    with torch.no_grad():
        bare, _ = layer(x, x, x)
        with api.trace() as trace:
            traced, _ = layer(x, x, x)
    assert torch.equal(bare, traced)
    (call,) = trace.document().processes[0].calls
    assert call.entry == "torch._native_multi_head_attention"
    assert call.q is not None
    assert (call.q.dtype, call.q.shape) == ("float32", (2, 3, 16))
    assert "(which kernel is not known) in fp32" in " ".join(trace.report().split())


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_what_torch_jit_compiled_is_called_as_before() -> None:
    """Also where it was compiled before, and its classes are left as they were."""
    kinds = [torch._C.ScriptFunction, torch._C.ScriptMethod]
    before = [vars(kind)["__call__"] for kind in kinds]
    function = torch.jit.script(reported_shapes.scripted_turn)
    module = torch.jit.script(reported_shapes.Lifting())
    x, cos = torch.randn(1, 3, 8, dtype=torch.bfloat16), torch.randn(3, 8)
    bare = function(x, cos), module(x)
    with api.trace() as trace:
        assert isinstance(function, torch.jit.ScriptFunction)
        assert torch.jit.script(function) is function
        traced = function(x, cos=cos), module(x)
    assert all(torch.equal(one, other) for one, other in zip(bare, traced, strict=True))
    assert [vars(kind)["__call__"] for kind in kinds] == before
    assert trace.document().processes[0].faults == ()


@pytest.mark.parametrize(
    "fails",
    [
        lambda: torch.nn.functional.softmax(torch.ones(1), dim=7),
        lambda: torch.ops.aten.mm(torch.ones(2, 3), torch.ones(2, 3)),
        lambda: torch.nn.functional.linear(torch.ones(2, 3), torch.ones(2, 4)),
        lambda: models.sdpa(*(torch.ones(1, 2, 3, size) for size in (4, 5, 4))),
    ],
)
def test_a_traceback_has_the_frames_that_it_had(fails: Callable[[], object]) -> None:
    def frames() -> list[Any]:
        try:
            fails()
        except (RuntimeError, IndexError) as error:
            hide._strip(error, set())
            return [(each.f_code.co_name, line) for each, line in walk_tb(error.__traceback__)]
        return []

    with api.trace():
        import _fadoctor_trace_hide as hide  # noqa: PLC0415

        traced = frames()
    assert traced == frames() != []


class Counting(torch.Tensor):  # type: ignore[name-defined,misc]
    """Keeps which of torch's functions were asked for on it."""

    asked: ClassVar[list[object]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN206
        cls.asked.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Doubling(TorchFunctionMode):
    """Knows attention by the function that stands in torch.nn.functional."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
        out = func(*args, **(kwargs or {}))
        return out * 2 if func is torch.nn.functional.scaled_dot_product_attention else out


def test_who_takes_attention_over_knows_it_by_its_function() -> None:
    """Modes, classes that kept the function, and torch's own biases."""
    bias = pytest.importorskip("torch.nn.attention.bias")
    q, k, v = (torch.randn(1, 2, 6, 8) for _ in range(3))

    def run() -> list[Any]:
        with Doubling():
            doubled = models.sdpa(q, k, v)
        attend = torch.nn.functional.scaled_dot_product_attention
        return [doubled, attend(q, k, v, attn_mask=bias.causal_lower_right(6, 6))]

    bare = run()
    for calls in (64, 1):  # while it records, and after
        with api.trace(calls=calls) as trace:
            traced = run() + run()
        assert all(torch.equal(*pair) for pair in zip(bare * 2, traced, strict=True))
        assert trace.document().processes[0].faults == ()


def test_the_code_of_a_class_of_tensors_runs_as_often_as_before() -> None:
    def run() -> list[object]:
        Counting.asked = []
        x = torch.ones(1, 2, 3, 8).as_subclass(Counting)
        models.sdpa(x, x + 1, torch.add(x, 2))
        return Counting.asked

    bare = run()
    with api.trace() as trace:
        assert run() == bare
    assert trace.document().processes[0].faults == ()


def test_nothing_is_left_behind() -> None:
    before = torch.nn.functional.scaled_dot_product_attention
    threads = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
    with api.trace():
        assert torch.nn.functional.scaled_dot_product_attention is not before
    assert torch.nn.functional.scaled_dot_product_attention is before
    assert threading.Thread._bootstrap_inner is threads  # type: ignore[attr-defined]
    assert torch._C._len_torch_function_stack() == 0


def test_after_its_calls_nothing_is_watched() -> None:
    with api.trace(calls=1):
        models.Model(kernel="sdpa")(torch.zeros(1, 3, dtype=torch.long))
        assert torch._C._len_torch_function_stack() == 0


@pytest.mark.long
def test_no_tensor_is_kept_alive() -> None:
    with api.trace() as trace:
        q = torch.randn(1, 2, 3, 8)
        models.sdpa(q, q, q * 2)
        seen = weakref.ref(q)
        del q
        gc.collect()
        assert seen() is None
    assert len(trace.document().processes[0].calls) == 1


def test_other_modes_come_and_go() -> None:
    with torch.device("cpu"), api.trace(), torch.device("meta"):
        assert torch.empty(1).device.type == "meta"
    assert torch.empty(1).device.type == "cpu"
    assert torch._C._len_torch_function_stack() == 0


def test_two_blocks_one_after_the_other() -> None:
    for _ in range(2):
        with api.trace() as trace:
            models.Model(kernel="sdpa")(torch.zeros(1, 3, dtype=torch.long))
        assert len(trace.document().processes[0].calls) == 2


def test_a_report_in_words() -> None:
    with api.trace() as trace:
        models.Model().to(torch.bfloat16)(torch.zeros(1, 3, dtype=torch.long))
    assert trace.report().splitlines()[0] == "All 2 layers ran flash-attn 2 in bf16, 2 calls."


def test_calls_that_end_in_a_backward_pass() -> None:
    """The mode leaves at the next module: a pass that runs holds it."""
    model = models.Checkpointed(reentrant=False).to(torch.bfloat16)
    ids = torch.zeros(1, 3, dtype=torch.long)
    with api.trace(calls=3) as trace:
        model(ids).sum().backward()
        model(ids)
        assert torch._C._len_torch_function_stack() == 0
    assert trace.document().processes[0].faults == ()


def test_python_code_in_a_backward_pass_is_seen() -> None:
    with api.trace() as trace:
        x = torch.randn(1, 2, 3, 8, dtype=torch.bfloat16, requires_grad=True)
        models.AttendsBackwards.apply(x).sum().backward()  # type: ignore[no-untyped-call]
    (call,) = trace.document().processes[0].calls
    assert call.culprits["k"].source == "k = grad.float()"


@pytest.mark.weekly
def test_functions_of_torch_can_be_pickled_scripted_and_compiled_as_before(tmp_path: Path) -> None:
    script = Path(__file__).with_name("uses.py")
    bare = [sys.executable, "-W", "ignore", str(script)]
    ours = [sys.executable, "-m", "fadoctor", "trace", "--output", str(tmp_path / "trace.txt")]
    runs = [
        subprocess.run(argv, capture_output=True, check=True, timeout=120).stdout
        for argv in (bare, [*ours, "--", *bare])
    ]
    assert runs[0] == runs[1]
    assert b"Error" not in runs[0]


def test_a_wrapper_reads_the_names_of_what_it_wraps() -> None:
    """torch.jit.script before torch 2.3 looks there for what the wrapped function calls."""
    functional = torch.nn.functional
    with api.trace():
        wrapper = functional.multi_head_attention_forward
        assert wrapper._fadoctor
        assert wrapper.__globals__ is vars(functional)
