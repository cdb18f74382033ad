"""Suites: the cases of shipped and of own rules, what fails and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.engine.suite import (
    CASES_LIMIT,
    PROBLEMS_LIMIT,
    RuleFile,
    RulesDoNotCompileError,
    Suite,
    _shipped_cases,
    load_suite,
    missing_cases,
    own_folders,
    run_suite,
)
from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.model.errors import FadoctorError, RuleDataError
from fadoctor.model.rule import Knowledge, Symptom
from fadoctor.report import suite_text
from tests.unit.knowledge.matrix.folders import rule_text, write

if TYPE_CHECKING:
    from fadoctor.model.rule import Rule

ROOT = Path(__file__).parents[4]

CASES = """
  - {name: here, facts: {host.os: linux}, expect: {outcome: fail}}
  - {name: there, facts: {host.os: windows}, expect: {outcome: pass}}
  - {name: nowhere, unknown: [host.os], expect: {outcome: unknown}}"""


def own(folder: Path, **texts: str) -> Suite:
    return load_suite([write(folder, **texts)])


def some_rule(folder: Path) -> tuple[Rule, Knowledge]:
    knowledge = compile_rules(write(folder, area__some_rule=rule_text())).knowledge
    return knowledge.rules[0], knowledge


def run(rule: Rule, knowledge: Knowledge, cases: Any) -> list[str]:
    file = RuleFile(rule, "a.yaml", cases)
    tested = run_suite(Suite(knowledge, {rule.id: file}, {}), own=False)
    return suite_text.render(tested).splitlines()


def test_the_shipped_suite_has_every_rule_with_its_cases() -> None:
    suite = load_suite()
    assert suite.own == {}
    assert set(suite.shipped) == {rule.id for rule in suite.knowledge.rules}
    file = suite.shipped["driver-too-old"]
    assert (ROOT / file.path).is_file()
    assert all({"name", "expect"} <= set(case) for case in file.cases)
    assert {"facts", "log"} <= {key for case in file.cases for key in case}


@pytest.mark.long
def test_own_rules_come_on_top_and_only_theirs_are_counted(tmp_path: Path) -> None:
    suite = own(tmp_path, area__some_rule=rule_text(cases=CASES))
    assert suite.own["some-rule"].path == str(tmp_path / "area" / "some-rule.yaml")
    assert list(suite.rules()) == sorted([*suite.shipped, "some-rule"])
    tested = run_suite(suite, own=True)
    assert (tested.rules, tested.cases, tested.failures, tested.changed) == (1, 3, (), ())


def test_a_second_folder_stands_on_the_first(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = write(tmp_path / "a", area__some_rule=rule_text(cases=CASES))
    other = rule_text("other-rule", cases=CASES, explained_by="[some-rule]")
    second = write(tmp_path / "b", area__other_rule=other)
    assert list(load_suite([first, second]).own) == ["some-rule", "other-rule"]
    with pytest.raises(RulesDoNotCompileError, match="there is no rule some-rule"):
        load_suite([second])


def test_every_problem_is_said_and_harmless(tmp_path: Path) -> None:
    bad = rule_text(verified="perhaps", area='"\\e[31m"')
    with pytest.raises(RulesDoNotCompileError) as caught:
        own(tmp_path, area__some_rule=bad)
    lines = str(caught.value).split("\nfadoctor: ")
    assert [line.partition(" at ")[2].partition("`:")[0] for line in lines] == [
        "`area",
        "`verified",
    ]
    assert all(line.isprintable() for line in lines)
    assert caught.value.exit_code == 2


def test_of_a_folder_full_of_problems_the_first_are_said() -> None:
    every = [RuleDataError(f"rule-{number}.yaml", "bad") for number in range(PROBLEMS_LIMIT + 7)]
    lines = str(RulesDoNotCompileError(every)).split("\nfadoctor: ")
    assert len(lines) == PROBLEMS_LIMIT + 1
    assert lines[0] == "rule-0.yaml: bad"
    assert lines[-1] == "and 7 more problems"


def test_the_shipped_rules_of_a_checkout_are_no_own_ones(tmp_path: Path) -> None:
    assert own_folders([ROOT / "rules", tmp_path, ROOT / "docs" / ".." / "rules"]) == (tmp_path,)


def test_a_file_that_cannot_be_read_is_a_problem_too(tmp_path: Path) -> None:
    with pytest.raises(RulesDoNotCompileError, match=r"some-rule\.yaml:\d+: not valid YAML"):
        own(tmp_path, area__some_rule="a: [1")


def test_cases_that_were_not_compiled_come_from_the_checkout(tmp_path: Path) -> None:
    source = write(tmp_path, area__some_rule=rule_text(cases=CASES))
    assert len(_shipped_cases(tmp_path / "none", source)["some-rule"]) == 3
    with pytest.raises(FadoctorError, match="install fadoctor again"):
        _shipped_cases(tmp_path / "none", tmp_path / "none")


@pytest.mark.long
def test_own_rows_that_change_shipped_cases_are_named(tmp_path: Path) -> None:
    header = (ROOT / "rules" / "matrix" / "driver-floors.yaml").read_text().partition("rows:")[0]
    row = 'rows:\n  - {cuda: "12 12", os: linux, driver: "1.0"}\n'
    tested = run_suite(own(tmp_path, matrix__driver_floors=header + row), own=True)
    assert tested.failures == ()
    assert "driver-too-old" in {failure.rule_id for failure in tested.changed}
    text = suite_text.render(tested)
    assert "changed by these rows: rules/driver/driver-too-old.yaml: " in text
    assert text.endswith("0 cases of 0 rules: 0 failures\n")


def test_failures_name_file_case_and_reason(tmp_path: Path) -> None:
    rule, knowledge = some_rule(tmp_path)
    wrong = {"name": "wr\x1bong", "facts": {"host.os": "linux"}, "expect": {"outcome": "pass"}}
    lines = run(rule, knowledge, [wrong, {"expect": {"outcome": "fail"}}])
    assert lines[0] == "FAILED a.yaml: wr?ong: fail instead of pass"
    assert lines[1].startswith("FAILED a.yaml: number 2: not a case: ")
    assert "FAILED a.yaml: a case that stays unknown is missing" in lines
    assert lines[-1] == "2 cases of 1 rule: 3 failures"


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        (3, "cases must be a list"),
        ([3], "number 1: not a case"),
        ([{"name": "x", "expect": {"outcome": "fail"}, "facts": 3}], "x: not a case"),
        ([{"name": "x", "expect": {"outcome": ["fail"]}}], "x: not a case"),
    ],
)
def test_cases_of_another_shape_are_failures(tmp_path: Path, cases: Any, words: str) -> None:
    assert any(words in line for line in run(*some_rule(tmp_path), cases))


def test_more_cases_than_the_limit_are_not_run(tmp_path: Path) -> None:
    rule, knowledge = some_rule(tmp_path)
    case = {"name": "x", "facts": {"host.os": "linux"}, "expect": {"outcome": "fail"}}
    assert f"{CASES_LIMIT} cases" in run(rule, knowledge, [case] * (CASES_LIMIT + 1))[-1]


def test_what_the_cases_of_a_rule_must_show(tmp_path: Path) -> None:
    rule, _ = some_rule(tmp_path)
    both = msgspec.structs.replace(rule, worded=(Symptom("broken"),))
    log_only = msgspec.structs.replace(both, when={})
    near_miss = {"name": "b", "log": "fine", "expect": {"outcome": "pass"}}
    assert len(list(missing_cases(RuleFile(rule, "", [])))) == 3
    assert len(list(missing_cases(RuleFile(both, "", [])))) == 5
    assert list(missing_cases(RuleFile(log_only, "", [near_miss]))) == [
        "a log that matches is missing"
    ]


def test_a_rule_without_condition_is_tested_with_a_log(tmp_path: Path) -> None:
    rule, knowledge = some_rule(tmp_path)
    log_only = msgspec.structs.replace(rule, when={}, worded=(Symptom("broken"),))
    case = {"name": "x", "facts": {}, "expect": {"outcome": "fail"}}
    assert "x: a rule without `when` is tested with a log" in run(log_only, knowledge, [case])[0]
