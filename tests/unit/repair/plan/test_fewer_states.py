"""Searches look at few states, and what they share is the same as what each would have alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.repair.plan.choices.domain import decided_in_order
from fadoctor.repair.plan.hub.hub_states import FACTS, INSTALLED
from fadoctor.repair.plan.search import solve as solve_module
from fadoctor.repair.plan.search.solve import solve
from fadoctor.repair.plan.search.wishes import Wishes
from fadoctor.repair.plan.states.post_state import PostState
from fadoctor.sources.targets.derived import derive_hub, derived_of_hub
from tests.unit.repair.plan.problems import (
    GOLDEN,
    golden,
    plan,
    problem,
    with_package,
    without,
)

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice

HEALTHY = "linux-a100-healthy"
WANTED = {"want": ("hub-fa2",)}
PACKAGES = ("torch", "transformers", "kernels", "huggingface-hub", "peft", "flash_attn")


class Noted(dict):  # type: ignore[type-arg]
    """Facts that note which of them are asked for."""

    def __init__(self, facts: object) -> None:
        super().__init__(facts)  # type: ignore[call-overload]
        self.asked: set[str] = set()

    def get(self, name: str, otherwise: object = None) -> object:
        self.asked.add(name)
        return super().get(name, otherwise)

    def __getitem__(self, name: str) -> object:
        self.asked.add(name)
        return super().__getitem__(name)


def test_states_have_the_facts_that_each_would_have_alone() -> None:
    made = problem(golden(HEALTHY), **WANTED)
    chance = random.Random(5)  # noqa: S311 -- no secret
    seen = set()
    for _ in range(60):
        alone = shared = made.environment
        for package in PACKAGES:
            choice = chance.choice(made.domain(package, shared, PACKAGES))
            alone = made.session.post.apply(alone, choice)
            shared = made.post.apply(shared, choice)
        assert shared.facts == alone.facts
        seen.add(tuple(str(shared.facts.get(name)) for name in derived_of_hub(shared.facts)))
    assert len(seen) > 2


@pytest.mark.long
def test_nothing_else_that_packages_change_decides_what_is_taken() -> None:
    """A fact that is read and not named would make different states look alike."""
    made = problem(golden(HEALTHY), **WANTED)
    solution = solve(made)
    state = made.session.post.after(made.environment, solution.changes)
    assert "kernels" in {choice.package for choice in solution.changes}
    before = set(derived_of_hub(state.facts))
    facts = Noted({name: fact for name, fact in state.facts.items() if name not in before})
    derive_hub(msgspec.structs.replace(state, facts=facts), made.session.matrix)
    still = ("env.", "host.", "hub.", "gpu", "python.")
    named = {*FACTS, INSTALLED}
    assert named <= facts.asked
    assert {name for name in facts.asked - named if not name.startswith(still)} == set()


@pytest.mark.parametrize("kept", ["peft", "transformers", "torch"])
def test_what_quarrels_with_what_is_kept_is_refused_early(kept: str) -> None:
    """Some 20,000 partial states were looked at, in more than eight seconds."""
    found = solve(problem(golden(HEALTHY), **WANTED, keep=(kept,)))
    assert found.complete
    assert found.nodes < 2_000


@pytest.mark.long
def test_what_fails_on_one_of_two_gpus_counts_as_soon_as_nothing_can_excuse_it() -> None:
    """All wheels of flash-attn were tried beside it: 20,000 partial states, fifteen seconds."""
    found = solve(problem(golden("linux-v100-and-a100"), want=("flash_attn_4",)))
    assert found.complete
    assert found.nodes < 4_000


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("kept", "want", "most"),
    [
        # wheels of flash-attn that cannot stay were tried with each release of FlashAttention-4
        ("triton", "fa4", 2_000),
        # nothing can bring what is kept to work, and each release of the other was tried for it
        ("flash_attn", "fa4", 8_000),
        ("flash_attn", "unsloth", 12_000),
    ],
)
def test_all_searches_of_a_plan_together_look_at_few_states(
    kept: str, want: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    judged = solve_module._Search._judged

    def counted(*arguments: Any) -> Any:
        looked.append(1)
        return judged(*arguments)

    monkeypatch.setattr(solve_module._Search, "_judged", counted)
    plan(golden("linux-5090-torch26"), want=(want,), keep=(kept,))
    assert len(looked) < most


@pytest.mark.parametrize("wanted", [(), ("flash-attn",)], ids=["repair", "wish"])
@pytest.mark.parametrize("name", sorted(path.parent.name for path in GOLDEN.glob("*/facts.json")))
def test_plans_of_golden_environments_look_at_few_states(
    name: str, wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flash-attn with unreadable metadata was sought anew beside an unreadable torch: 629."""
    applied, looked = PostState.apply, []

    def counted(post: PostState, before: Environment, choice: Choice) -> Environment:
        looked.append(choice)
        return applied(post, before, choice)

    monkeypatch.setattr(PostState, "apply", counted)
    made = plan(golden(name), want=wanted)
    assert bool(looked) >= bool(made.changes)
    assert len(looked) <= 400


def test_what_is_kept_and_what_follows_from_torch_are_decided_first() -> None:
    packages = ("torch", "vllm", "triton", "flash_attn", "peft", "transformers", "huggingface-hub")
    there = {"torch", "triton", "peft", "transformers", "huggingface-hub"}
    assert decided_in_order(packages, there, Wishes(kept=frozenset({"peft"}))) == (
        "peft", "torch", "triton", "transformers", "huggingface-hub", "vllm", "flash_attn",
    )  # fmt: skip


@pytest.mark.parametrize(("part", "torches"), [(3, ["2.8.0"]), (1_000, [])])
def test_what_is_cut_off_beside_one_torch_comes_to_the_others(
    monkeypatch: pytest.MonkeyPatch, part: int, torches: list[str]
) -> None:
    """Unsloth's releases beside the nearest torch leave no step for one whose xformers runs."""
    monkeypatch.setattr(solve_module, "_EACH_TORCH", part)
    here = without(golden("linux-5090-torch26"), "flash_attn")
    here = with_package(here, "xformers", "0.0.29.post3", {"torch": "==2.6.0"})
    needs = {"torch": ">=2.4.0", "xformers": ">=0.0.27.post2", "triton": ">=3.0.0"}
    here = with_package(here, "unsloth", "2025.6.2", needs)
    found = solve(problem(here), limit=150)
    assert [each.version for each in found.changes if each.package == "torch"] == torches
    assert not found.complete


def test_no_search_takes_more_steps_than_all_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is explained took as many steps as it liked, and the plan seconds."""
    steps = []
    run = solve_module._Search.run

    def counted(search: Any) -> Any:
        found = run(search)
        steps.append(search.nodes)
        return found

    monkeypatch.setattr(solve_module._Search, "run", counted)
    plan(golden("linux-5090-torch26"), want=("unsloth", "fa4"), keep=("flash_attn", "torch"))
    assert sum(steps) < 2 * solve_module.ALL_STEPS
