"""What no plan may do: told off what it says, and kept from everything that people start from."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.plan import Action, ActionKind, Change, Plan, PlanOutcome, Proof
from tests.states.promises import broken_promise, needless_torch
from tests.states.starts import STARTS, start
from tests.unit.repair.plan.problems import plan

MACHINES = (
    ("Tesla V100-SXM2-16GB", "7.0", "535.129.03"),
    ("NVIDIA H100 80GB HBM3", "9.0", "550.54.15"),
    ("NVIDIA GeForce RTX 5090", "12.0", "580.65.06"),
)
MOVES = (Change("flash-attn", "", "2.8.3.post1"),)
BY_HAND = Action(ActionKind.ADVICE, "pip install 'flash-attn>=2.7.1,<2.8.3'")

BACK = Action(
    ActionKind.INSTALL,
    "x",
    ("x",),
    undo="pip install --index-url https://download.pytorch.org/whl/cu128 --no-deps"
    " torch==2.8.0+cu128 triton-windows==3.2.0.post21",
)

OPPOSED = (
    Action(ActionKind.ADVICE, "pip install 'torch>=2.6,<2.8'", findings=("a",)),
    Action(ActionKind.ADVICE, "pip install torch==2.9.0", findings=("b",)),
)
UNNAMED = Action(
    ActionKind.INSTALL, "x", ("x",), requirements=("torch==2.9.0",), undo="pip install peft==0.1"
)
NOTHING_ELSE = "for AMD's GPUs torch is planned with what is published beside it, nothing else"


def made(**parts: Any) -> Plan:
    given = {"actions": (), "changes": MOVES, **parts}
    return Plan(PlanOutcome.REPAIRS, Target("environment", "x", "test"), "pip", **given)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"actions": (BY_HAND,)}, "becomes 2.8.3.post1"),
        (
            {"actions": OPPOSED, "changes": ()},
            "by hand torch==2.9.0 is asked for, and torch>=2.6,<2.8",
        ),
        ({"proof": Proof(errors=("x",), lost=("gpu[0] flex bf16",))}, "stops working"),
        (
            {"actions": (Action(ActionKind.INSTALL, "x", ("x",), requirements=("sglang",)),)},
            "a bare name",
        ),
        ({"changes": (Change("sglang", "0.5.23", "0.5.2"),)}, "without a word"),
        ({"actions": (BACK,)}, "triton-windows 3.2.0.post21 comes back from cu128"),
        ({"actions": (UNNAMED,)}, "flash-attn moves, and no command names it"),
        (
            {"actions": (UNNAMED,), "changes": (Change("torch", "2.8.0", "2.9.0"),)},
            "torch 2.8.0 does not come back",
        ),
        (
            {"changes": (Change("vllm", "", "0.11.0"),), "notes": (NOTHING_ELSE,)},
            "vllm move, and a note says",
        ),
        ({"changes": (Change("peft", "0.21.2", "0.16.0"),)}, "not named with its version"),
        (
            {"proof": Proof(missed=("fa2 on gpu[0] fails",)), "wishes": ("fa2 on gpu[0]",)},
            "every backend that is wanted fails",
        ),
        (
            {
                "proof": Proof(missed=("fa2 on gpu[0] fails",)),
                "wishes": ("fa2 on gpu[0]", "sdpa-flash on gpu[0]"),
            },
            "flash-attn is installed for what cannot work here",
        ),
    ],
)
def test_what_is_broken_is_told(parts: dict[str, Any], told: str) -> None:
    assert told in broken_promise(made(**parts))


@pytest.mark.parametrize(
    "parts",
    [
        {"actions": (Action(ActionKind.ADVICE, "pip install 'flash-attn>=2.7.1,<3'"),)},
        {"proof": Proof(lost=("gpu[0] flex bf16",))},
        {
            "proof": Proof(missed=("sdpa-flash on gpu[0] fails",)),
            "wishes": ("fa2 on gpu[0]", "sdpa-flash on gpu[0]"),
        },
        {
            "changes": (Change("flash-attn", "2.3.4", ""),),
            "proof": Proof(missed=("fa2 on gpu[0] fails",)),
            "wishes": ("fa2 on gpu[0]",),
        },
        {
            "proof": Proof(errors=("x",), lost=("gpu[0] flex bf16",)),
            "wishes": ("flash-attn (asked for)",),
        },
    ],
)
def test_what_is_kept_is_not(parts: dict[str, Any]) -> None:
    assert broken_promise(made(**parts)) == ""


@pytest.mark.sampled
@pytest.mark.parametrize("machine", MACHINES, ids=lambda each: each[1])
@pytest.mark.parametrize("name", STARTS)
def test_every_start_keeps_the_promises(name: str, machine: tuple[str, str, str]) -> None:
    assert broken_promise(plan(start(name, machine))) == ""


@pytest.mark.sampled
@pytest.mark.parametrize("machine", MACHINES, ids=lambda each: each[1])
@pytest.mark.parametrize("name", STARTS)
def test_no_start_moves_torch_needlessly(name: str, machine: tuple[str, str, str]) -> None:
    there = start(name, machine)
    assert needless_torch(plan(there), plan(there, keep=("torch",))) == ""


def test_a_torch_that_need_not_move_is_told() -> None:
    moves = (Change("torch", "2.9.1+cpu", "2.15.0"), Change("xformers", "0.0.33", "0.0.34"))
    there = made(changes=moves)
    kept = made(changes=(Change("xformers", "0.0.33", "0.0.33"),))
    assert "without that" in needless_torch(there, kept)
    assert needless_torch(there, made(changes=(), proof=Proof(errors=("x",)))) == ""
    assert needless_torch(there, made(changes=(Change("xformers", "0.0.33", ""),))) == ""
    assert needless_torch(kept, kept) == ""


@pytest.mark.sampled
@pytest.mark.parametrize("want", ["flash-attn", "unsloth", "vllm", "sglang", "xformers"])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda each: each[1])
def test_every_wish_keeps_the_promises(want: str, machine: tuple[str, str, str]) -> None:
    assert broken_promise(plan(start("empty", machine), want=(want,))) == ""
