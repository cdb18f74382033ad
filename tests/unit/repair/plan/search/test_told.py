"""What a rule told of what decides it, it tells again: it is not judged beside other choices."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fadoctor.repair.plan.search.solve import solve
from fadoctor.repair.plan.search.told import Told
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING
from tests.unit.repair.plan.problems import golden, problem

if TYPE_CHECKING:
    import pytest

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.states.relations import State


def test_what_is_remembered_is_what_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    of, counts = Told.of, Counter[str]()

    def compared(self: Any, relations: Any, state: State, environment: Environment) -> Any:
        judge, asked = self._problem.judge, set()

        def counted(relation: Any, there: Environment) -> Any:
            asked.add(relation.key)
            return judge(relation, there)

        monkeypatch.setattr(self._problem, "judge", counted)
        before = list(relations)
        found = list(of(self, relations, state, environment))
        monkeypatch.setattr(self._problem, "judge", judge)
        anew = [
            (place, told) for place, each in enumerate(before) if (told := judge(each, environment))
        ]
        assert [(place, told) for place, told, _ in found] == anew
        counts["judged"] += len(asked)
        counts["remembered"] += len(before) - len(asked)
        assert asked >= {each.key for each in before if EVERYTHING in each.decided_by}
        yield from found

    monkeypatch.setattr(Told, "of", compared)
    solve(problem(golden("linux-5090-torch26"), want=("unsloth",)))
    assert counts["remembered"] > 500
