"""A rule that told nothing of what decides it is not judged again beside other choices."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fadoctor.repair.plan.search import solve as solve_module
from fadoctor.repair.plan.search.solve import solve
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING
from tests.unit.repair.plan.problems import golden, problem

if TYPE_CHECKING:
    import pytest

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.cost import Cost
    from fadoctor.repair.plan.states.relations import State


def test_what_is_left_out_would_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = solve_module._Search._fresh
    counts: Counter[str] = Counter()

    def compared(self: Any, environment: Environment, state: State, least: Cost) -> Any:
        relations = self.relations[len(state)]
        left = {each.key for _, each in self.told.telling(relations, state)}
        for each in relations:
            if each.key not in left:
                counts["left out"] += 1
                assert EVERYTHING not in each.decided_by
                told: tuple[Judgement, ...] = self.problem.judge(each, environment)
                assert not told
        counts["judged"] += len(left)
        return fresh(self, environment, state, least)

    monkeypatch.setattr(solve_module._Search, "_fresh", compared)
    solve(problem(golden("linux-5090-torch26"), want=("unsloth",)))
    assert counts["left out"] > 500
