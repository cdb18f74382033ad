"""What an undecided framework costs at least is known from the torch, and keeps searches short."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.search.ahead import CostsAhead
from fadoctor.repair.plan.search.cost import Cost
from fadoctor.repair.plan.search.costing import Costs
from fadoctor.repair.plan.search.solve import solve
from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, problem, session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem

LISTED = """\
$ python --version
Python 3.12.9
$ uname -sm
Linux x86_64
$ nvidia-smi
| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
$ pip list
Package         Version
--------------- -------
torch           2.13.0
triton          3.7.1
torchvision     0.28.0
torchaudio      2.11.0
vllm            0.31.0
transformers    {transformers}
huggingface-hub 1.20.0
trl             {trl}
numpy           2.2.6
"""


def listed(transformers: str = "5.20.0", trl: str = "1.12.0") -> Environment:
    text = LISTED.format(transformers=transformers, trl=trl)
    return read_text(text.encode(), "report.txt", session().knowledge)


def torch_of(asked: Problem, version: str) -> Choice:
    return next(
        each
        for each in asked.session.candidates.torch(asked.environment)
        if each.version == version
    )


def after(asked: Problem, torch: Choice, *, must_meet: bool = False) -> Cost:
    """Return what follows at least from one torch, where nothing else is decided."""
    ahead = CostsAhead(asked, Costs(asked, ()), must_meet=must_meet)
    none = Cost(ages=(0,) * len(asked.by_age))
    return ahead.of(none, {"torch": torch}, asked.post.apply(asked.environment, torch))


@pytest.mark.parametrize(
    ("torch", "errors", "lowered"),
    [
        ("2.12.0+cu126", 1, 0),  # vLLM is compiled for the CUDA of PyPI's torch alone
        ("2.10.0", 0, 1),
        ("2.14.0", 0, 0),  # a later one was compiled for it
    ],
)
def test_a_torch_tells_what_becomes_of_a_framework(torch: str, errors: int, lowered: int) -> None:
    asked = problem(listed())
    found = after(asked, torch_of(asked, torch))
    assert (found.errors, found.lowered) == (errors, lowered)


def test_a_framework_that_is_decided_costs_nothing_more() -> None:
    asked = problem(listed())
    torch = torch_of(asked, "2.12.0+cu126")
    ahead = CostsAhead(asked, Costs(asked, ()), must_meet=False)
    there = asked.post.apply(asked.environment, torch)
    kept = asked.domain("vllm", asked.environment, ())[0]
    assert kept.kind is ChoiceKind.KEEP
    none = Cost(ages=(0,) * len(asked.by_age))
    found = ahead.of(none, {"torch": torch, "vllm": kept}, there)
    assert (found.errors, found.lowered) == (0, 0)
    assert ahead.of(none, {}, asked.environment) == none


@pytest.mark.parametrize("must_meet", [False, True])
def test_a_wish_that_no_release_meets_beside_a_torch_is_missed(*, must_meet: bool) -> None:
    asked = problem(listed(), want=("sglang",))
    torch = torch_of(asked, "2.12.0+cu126")
    assert after(asked, torch, must_meet=must_meet).missed == 2


@pytest.mark.parametrize("trl", ["0.15.2", "1.12.0", "1.16.0"])
def test_an_old_driver_beside_a_new_framework_takes_few_states(trl: str) -> None:
    """Each torch was tried with all that belongs to it, until the search was cut off."""
    found = solve(problem(listed(trl=trl)))
    assert found.complete
    assert found.cost.errors == 0
    assert found.nodes < 400


def test_nothing_is_tried_twice_because_two_fixes_offer_it() -> None:
    """Two fixes offer a range, and the newest release of both is one."""
    asked = problem(listed())
    assert len(asked.offers["huggingface-hub"]) > 1
    for package in asked.packages:
        found = [each.key for each in asked.domain(package, asked.environment, ())]
        assert len(found) == len(set(found)), package


def test_what_is_missing_comes_in_the_release_that_the_framework_that_comes_pins() -> None:
    """The fix names the FlashInfer of the vLLM that goes: no state was without an error."""
    changes = {each.distribution: each.after for each in plan(listed()).changes}
    assert changes["vllm"] == "0.19.1"
    assert changes["flashinfer-python"] == "0.6.6"


def test_a_trainer_goes_back_with_the_framework_that_it_calls() -> None:
    """The newest trl was taken although it calls a later vLLM: the proof found that broken."""
    found = plan(listed(transformers="5.17.0", trl="1.16.0"))
    changes = {each.distribution: each.after for each in found.changes}
    assert changes["vllm"] == "0.19.1"
    assert changes["trl"] == "1.13.0"
    assert not found.proof.requirements
