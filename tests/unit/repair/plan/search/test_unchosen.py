"""What nobody decides about costs the same when it is counted early as when it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import fact_mapping
from fadoctor.repair.plan.choices.choice import keep
from fadoctor.repair.plan.search.solve import solve
from fadoctor.repair.plan.search.unchosen import Beside, Unchosen
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, problem, with_package

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment


def beside_torchao() -> Environment:
    """Return an environment whose SGLang pins a torchao that no unsloth-zoo of today takes."""
    found = golden("linux-a100-healthy")
    torch = str(found.facts["torch.version"].value)  # type: ignore[union-attr] # of golden facts
    needs = {"torch": f"=={torch}", "torchao": "==0.9.0"}
    found = with_package(found, "sglang", "0.5.9", needs)
    there = {**fact_mapping(found.fact("packages.installed")), "torchao": "0.9.0"}
    facts = {**found.facts, "packages.installed": fact_of(there)}
    return msgspec.structs.replace(found, facts=facts)


def test_releases_that_cannot_have_what_they_require_are_told_before_they_are_tried() -> None:
    """Each of 250 releases was put to the rules, beside each release of the other framework."""
    asked = problem(beside_torchao(), want=("unsloth",))
    unchosen = Unchosen(asked)
    beside = unchosen.beside({"sglang": keep("sglang")})
    newest = asked.session.candidates.listed.every("unsloth")[0]
    errors, _ = unchosen.more(beside, newest)
    assert errors == 1
    assert unchosen.more(unchosen.beside({}), newest)[0] == 0


@pytest.mark.long
def test_a_search_that_counts_early_is_not_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = problem(beside_torchao(), want=("unsloth",))
    early = solve(asked)
    monkeypatch.setattr(Unchosen, "beside", lambda *_: Beside({}))
    monkeypatch.setattr(Unchosen, "more", lambda *_: (0, 0))
    late = solve(problem(beside_torchao(), want=("unsloth",)))
    assert early.complete
    assert not late.complete
    assert early.cost <= late.cost
    assert early.nodes < 3_000
