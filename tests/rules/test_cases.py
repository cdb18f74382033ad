"""Each rule's own cases, and that each rule has those it needs."""

import msgspec
import pytest

from fadoctor.judging.engine.cases import Cases, read_case
from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.model.finding import Outcome
from fadoctor.model.rule import with_written_parts
from tests.shipped import RULES as RULES_FOLDER
from tests.shipped import compiled

COMPILED = compiled()
RULES = {rule.id: rule for rule in COMPILED.knowledge.rules}
RUN = Cases(COMPILED.knowledge)


def test_rules_compile() -> None:
    made = compile_rules(RULES_FOLDER)
    assert [str(problem) for problem in made.problems] == []
    rules = tuple(map(with_written_parts, COMPILED.knowledge.rules))
    read = msgspec.structs.replace(COMPILED.knowledge, rules=rules, words=b"")
    assert made.knowledge == read
    assert made.cases == COMPILED.cases


@pytest.mark.parametrize("rule_id", RULES)
def test_cases_come_out_as_they_say(rule_id: str) -> None:
    cases = [read_case(raw) for raw in COMPILED.cases[rule_id]]
    problems = [(case.name, RUN.run(RULES[rule_id], case)) for case in cases]
    assert [(name, problem) for name, problem in problems if problem] == []


@pytest.mark.parametrize("rule_id", sorted(i for i, rule in RULES.items() if rule.when))
def test_each_condition_has_a_failing_a_passing_and_an_unknown_case(rule_id: str) -> None:
    cases = [raw for raw in COMPILED.cases[rule_id] if "log" not in raw]
    outcomes = {read_case(raw).expect.outcome for raw in cases}
    assert {Outcome.FAIL, Outcome.UNKNOWN} <= outcomes
    assert outcomes & {Outcome.PASS, Outcome.NOT_APPLICABLE}
