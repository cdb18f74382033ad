"""Each rule's own cases, and that each rule has those it needs."""

import pytest

from fadoctor.engine.cases import Cases, read_case
from fadoctor.model.finding import Outcome
from tests.shipped import compiled

COMPILED = compiled()
RULES = {rule.id: rule for rule in COMPILED.knowledge.rules}
RUN = Cases(COMPILED.knowledge)
CASES = [
    pytest.param(rule_id, raw, id=f"{rule_id}: {raw.get('name')}")
    for rule_id, cases in COMPILED.cases.items()
    for raw in cases
]


def test_rules_compile() -> None:
    assert [str(problem) for problem in COMPILED.problems] == []


@pytest.mark.parametrize(("rule_id", "raw"), CASES)
def test_case(rule_id: str, raw: dict[str, object]) -> None:
    assert RUN.run(RULES[rule_id], read_case(raw)) == ""


@pytest.mark.parametrize("rule_id", sorted(i for i, rule in RULES.items() if rule.when))
def test_each_condition_has_a_failing_a_passing_and_an_unknown_case(rule_id: str) -> None:
    cases = [raw for raw in COMPILED.cases[rule_id] if "log" not in raw]
    outcomes = {read_case(raw).expect.outcome for raw in cases}
    assert {Outcome.FAIL, Outcome.UNKNOWN} <= outcomes
    assert outcomes & {Outcome.PASS, Outcome.NOT_APPLICABLE}
