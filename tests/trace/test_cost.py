"""What a training loop pays for being traced, in calls of the tracer's own code."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

from fadoctor import api  # noqa: E402
from fadoctor.proof.trace.parent import CHILD  # noqa: E402
from tests.trace.models import sdpa  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

pytestmark = pytest.mark.torch


def own_calls(run: Callable[[], object]) -> Counter[str]:
    """Return how often each function of the tracer begins."""
    found: Counter[str] = Counter()

    def begins(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(CHILD)):
            found[frame.f_code.co_name] += 1

    sys.setprofile(begins)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def optimizer_of(count: int, **options: Any) -> Any:
    weights = [torch.nn.Parameter(torch.ones(4)) for _ in range(count)]
    for each in weights:
        each.grad = torch.ones(4)
    return torch.optim.AdamW(weights, 1e-3, **options)


@pytest.mark.parametrize("foreach", [False, True])
def test_optimizer_costs_the_same_for_any_number_of_parameters(*, foreach: bool) -> None:
    """Two thirds of the operations of a training loop are its own."""
    costs = []
    for count in (2, 2, 40):  # the first one fills what is remembered of code
        optimizer = optimizer_of(count, foreach=foreach)
        with api.trace():
            optimizer.step()
            costs.append(own_calls(lambda: (optimizer.step(), optimizer.zero_grad())))  # noqa: B023
    assert costs[1] == costs[2]
    assert sum(costs[1].values()) < 100  # with what Dynamo calls, where it is loaded


def clipped(owner: Any, weights: Any) -> None:
    owner.clip_grad_norm_(weights, 1.0)
    owner.clip_grad_value_(weights, 1.0)


@pytest.mark.parametrize("foreach", [False, True])
def test_clipping_costs_the_same_for_any_number_of_gradients(*, foreach: bool) -> None:
    """It reads each gradient several times, more often than a small model computes."""
    costs = []
    for count in (2, 2, 40):  # the first one fills what is remembered of code
        (group,) = optimizer_of(count, foreach=foreach).param_groups
        with api.trace():
            costs += [
                own_calls(lambda: clipped(owner, group["params"]))  # noqa: B023
                for owner in (torch.nn.utils, sys.modules["torch.nn.utils.clip_grad"])
            ]
    assert len({repr(sorted(each.items())) for each in costs[2:]}) == 1
    assert sum(costs[2].values()) < 60


def test_unscaling_and_clearing_cost_the_same_for_any_number_of_gradients() -> None:
    costs = []
    for count in (2, 2, 40):  # the first one fills what is remembered of code
        optimizer = optimizer_of(count)
        model = torch.nn.ParameterList(optimizer.param_groups[0]["params"])
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(torch.ones(()))

        def run() -> None:
            scaler.unscale_(optimizer)  # noqa: B023
            model.zero_grad()  # noqa: B023

        with api.trace():
            costs.append(own_calls(run))
    assert costs[1] == costs[2]


@pytest.mark.long
def test_clipping_comes_out_as_without_us_and_the_statement_after_it_is_named() -> None:
    plain, traced = (optimizer_of(3).param_groups[0]["params"] for _ in range(2))
    expected = torch.nn.utils.clip_grad_norm_(plain, 0.5)
    with api.trace() as trace:
        assert torch.equal(torch.nn.utils.clip_grad_norm_(traced, 0.5), expected)
        mixed()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(plain, traced, strict=True))
    assert guilty(trace) == NAMED


def mixed(refused: bool = True) -> None:  # noqa: FBT001, FBT002
    q = torch.ones(1, 2, 4, 8, dtype=torch.bfloat16)
    if refused:
        with pytest.raises(RuntimeError):
            sdpa(q.float(), q, q)  # the guilty line


def guilty(trace: Any) -> list[tuple[str, str]]:
    (process,) = trace.document().processes
    assert process.faults == ()
    return [(letter, each.source) for call in process.calls
            for letter, each in call.culprits.items()]  # fmt: skip


NAMED = [("q", "sdpa(q.float(), q, q)  # the guilty line")]


def test_statement_after_a_step_is_named_with_another_mode_in_place() -> None:
    optimizer = optimizer_of(2)
    with api.trace() as trace, torch.device("cpu"):
        optimizer.step()
        optimizer.zero_grad()
        mixed()
    assert guilty(trace) == NAMED


def test_statement_in_a_closure_is_named() -> None:
    optimizer = optimizer_of(2)

    def closure() -> float:
        mixed()
        return 0.0

    with api.trace() as trace:
        optimizer.step(closure)
    assert guilty(trace) == NAMED


def test_step_that_fails_keeps_the_tracer_out_for_one_step_at_most() -> None:
    optimizer = optimizer_of(2)
    healthy = optimizer.param_groups[0]["lr"]
    with api.trace() as trace:
        optimizer.param_groups[0]["lr"] = None
        with pytest.raises(TypeError):
            optimizer.step()
        optimizer.param_groups[0]["lr"] = healthy
        optimizer.step()
        mixed()
    assert guilty(trace) == NAMED


def test_nothing_of_ours_is_left_in_optimizers() -> None:
    hooks = sys.modules["torch.optim.optimizer"]
    before = (dict(hooks._global_optimizer_pre_hooks), torch.optim.Optimizer.zero_grad)
    with api.trace(calls=1):
        assert torch.optim.Optimizer.zero_grad is not before[1]
        mixed()  # the last call that is recorded
        assert dict(hooks._global_optimizer_pre_hooks) == before[0]
    assert (dict(hooks._global_optimizer_pre_hooks), torch.optim.Optimizer.zero_grad) == before


@pytest.mark.parametrize(
    "run",
    [
        lambda x, _: x.add_(1),
        lambda x, _: x.float(),
        lambda x, _: x.T,
        lambda x, _: x.shape,
        lambda x, _: x.size(),
        lambda _, many: torch._foreach_add_(many, 1.0),
        lambda x, _: x.to(torch.bfloat16).view(-1),
        lambda x, _: x.view(-1),
        lambda x, _: x.requires_grad_().transpose(0, 1).T,
        lambda x, _: x.split(1),
    ],
    ids=[
        "in place",
        "no cast",
        "attribute",
        "shape",
        "size",
        "list in place",
        "half",
        "view",
        "view of a view",
        "views in a tuple",
    ],
)
def test_operation_that_makes_nothing_wide_is_not_looked_at(run: Callable[..., object]) -> None:
    x, many = torch.ones(2, 2), [torch.ones(2) for _ in range(8)]
    with api.trace():
        run(x, many)
        found = own_calls(lambda: run(x, many))
    assert found["_look"] <= (1 if run(x, many).__class__ is torch.Tensor else 0)
    assert found["note"] == 0


def test_members_of_a_list_are_noted_each_with_its_own_operands() -> None:
    """Else the work grows with the square of their number, and one is given another's origin."""
    few, many = ([torch.ones(2) for _ in range(count)] for count in (4, 16))
    with api.trace():
        for each in (few, many):
            torch._foreach_mul(each, each)
        costs = [own_calls(lambda: torch._foreach_mul(each, each)) for each in (few, many)]  # noqa: B023
    assert costs[1]["storage_of"] == 4 * costs[0]["storage_of"]


def test_call_that_comes_again_is_counted_and_not_looked_at_anew() -> None:
    q, other = (torch.ones(1, 2, 4, 8, dtype=dtype) for dtype in (torch.bfloat16, torch.float16))

    def several() -> None:
        for _ in range(3):
            sdpa(q, q, q)

    with api.trace() as trace:
        several()
        found = own_calls(several)
        sdpa(other, other, other)
        with pytest.raises(RuntimeError):
            sdpa(q, q, other)
    assert (found["_look"], found["count"]) == (0, 3)
    (process,) = trace.document().processes
    assert process.faults == ()
    assert [(call.times, bool(call.error)) for call in process.calls] == [
        (6, False), (1, False), (1, True)
    ]  # fmt: skip


def test_call_under_other_switches_of_torch_is_another() -> None:
    q = torch.ones(1, 2, 4, 8, dtype=torch.bfloat16)
    attention = pytest.importorskip("torch.nn.attention")
    with api.trace() as trace:
        for _ in range(2):
            sdpa(q, q, q)
        with attention.sdpa_kernel(attention.SDPBackend.MATH):
            sdpa(q, q, q)
    (process,) = trace.document().processes
    assert [(call.backend, call.times) for call in process.calls] == [
        ("sdpa-flash", 2), ("sdpa-math", 1)
    ]  # fmt: skip


SHORT = {
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack((x, x)),
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (8,)),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "reshape": lambda x: x.transpose(0, 1).reshape(4, -1),
}
"""Operations whose result is as wide as its operands, in lists, beside masks or by Python."""


@pytest.mark.parametrize("name", SHORT)
def test_wide_results_of_wide_operands_take_the_short_way(name: str) -> None:
    """No frame is looked at, and the origin is that of the operand."""
    x = torch.ones(2, 4, 8, dtype=torch.bfloat16)
    with api.trace() as trace:
        lineage = trace._tracer.lineage
        wide = x.float()
        looked: list[str] = []
        note = lineage.note

        def noted(each: str, *rest: Any) -> Any:
            looked.append(each)
            return note(each, *rest)

        lineage.note = noted
        out = SHORT[name](wide)
        origins = lineage.get(out), lineage.get(wide)
    assert looked == []
    assert origins[0] is origins[1] is not None


def test_weights_that_are_filled_in_place_are_not_looked_at() -> None:
    with api.trace() as trace:
        weight = torch.nn.Parameter(torch.empty(8, 8))
        looked: list[Any] = []
        trace._tracer.lineage._look = lambda func, *_: looked.append(func)
        torch.nn.init.kaiming_uniform_(weight)
        torch.nn.init.constant_(weight, 1.0)
    assert looked == []


def test_calls_of_a_program_that_is_wrong_throughout_wait_as_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is written whole: at each call it would cost the square of their number."""
    monkeypatch.syspath_prepend(str(CHILD))
    kept = importlib.import_module("_fadoctor_trace_record")
    hears = SimpleNamespace(missing=[], not_entered=[], faults=[])
    record = kept.Record(str(tmp_path), hears, (), ())
    whole, written = record.write, []

    def write() -> None:
        whole()
        written.append(len(record.calls))
        record._cost = 1.0  # as on a slow disk

    record.write = write
    for number in range(60):
        record.add(number, {"culprits": {"q": {}}, "error": None, "times": 1})
    assert written == list(range(1, kept._AT_ONCE + 1))
    record.add("refused", {"culprits": {"q": {}}, "error": "RuntimeError", "times": 1})
    assert written[-1] == 61
    (file,) = tmp_path.glob("*.json")
    assert len(json.loads(file.read_text("utf-8"))["calls"]) == 61
