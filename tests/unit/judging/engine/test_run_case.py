"""The runner of the cases that stand in rules: what it accepts and what it says is wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fadoctor.judging.engine.cases import case_environment, read_case, run_case
from fadoctor.model.fact import Absent, Known, Unknown
from tests.unit.judging.engine.builders import knowledge, rule

OLD = rule(
    "driver-old",
    when={"driver.version": {"below": "525"}},
    message="Driver {driver.version} is old.",
    fixes=[{"id": "update-it", "title": "Update", "steps": [{"advice": "Update it."}]}],
)
FAILS = {"outcome": "fail"}


def run(case: dict[str, Any]) -> str:
    return run_case(OLD, read_case({"name": "a case", **case}), knowledge(OLD, rule("other-rule")))


@pytest.mark.parametrize(
    "case",
    [
        {"facts": {"driver.version": "470"}, "expect": FAILS},
        {"facts": {"driver.version": "470"}, "expect": {**FAILS, "message": "470 is old"}},
        {"facts": {"driver.version": "470"}, "expect": {**FAILS, "fixes": ["update-it"]}},
        {"facts": {"driver.version": "550"}, "expect": {"outcome": "pass"}},
        {"facts": {"driver.version": None}, "expect": {"outcome": "not_applicable"}},
        {"facts": {}, "expect": {"outcome": "not_applicable"}},
        {"unknown": ["driver.version"], "expect": {"outcome": "unknown"}},
    ],
)
def test_cases_that_come_out_as_expected(case: dict[str, Any]) -> None:
    assert run(case) == ""


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        (
            {"facts": {"driver.version": "470"}, "expect": {"outcome": "pass"}},
            "fail instead of pass",
        ),
        (
            {"unknown": ["driver.version"], "expect": {"outcome": "fail"}},
            "unknown instead of fail not readable in this case",
        ),
        (
            {"facts": {"driver.version": "470"}, "expect": {**FAILS, "message": "new"}},
            "no message holds 'new': ['Driver 470 is old.']",
        ),
        (
            {"facts": {"driver.version": "470"}, "expect": {**FAILS, "fixes": []}},
            "offers ('update-it',) instead of ()",
        ),
    ],
)
def test_cases_that_come_out_otherwise(case: dict[str, Any], complaint: str) -> None:
    assert run(case) == complaint


@pytest.mark.parametrize(
    "case",
    [
        {"name": "x"},
        {"name": "x", "expect": {"outcome": "broken"}},
        {"name": "x", "expect": FAILS, "fact": {}},
        {"expect": FAILS},
        "a case",
    ],
)
def test_what_is_no_case(case: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_case(case)


def test_the_facts_of_a_case() -> None:
    raw = {
        "name": "x",
        "facts": {"torch.libraries": ["a", "b"], "gpu.count": 2, "host.glibc": None},
        "unknown": ["driver.version"],
        "expect": FAILS,
    }
    environment = case_environment(read_case(raw))
    assert environment.fact("torch.libraries") == Known(("a", "b"), "case")
    assert environment.fact("gpu.count") == Known(2, "case")
    assert environment.fact("host.glibc") == Absent("case")
    assert environment.fact("never.named") == Absent("case")
    assert isinstance(environment.fact("driver.version"), Unknown)


def test_a_rule_that_breaks_fails_its_cases() -> None:
    broken = rule("reads-nothing", when={"any": [{}]})
    case = read_case({"name": "x", "expect": FAILS})
    assert "without reading a fact" in run_case(broken, case, knowledge(broken))


def test_with_several_subjects_the_worst_counts() -> None:
    per_gpu = rule("gpu-old", for_each=["gpu"], when={"gpu.compute_capability": {"below": "8.0"}})
    facts = {
        "gpu.count": 3,
        "gpu[0].compute_capability": "8.0",
        "gpu[1].compute_capability": "7.0",
        "gpu[2].compute_capability": "9.0",
    }
    one = {"name": "x", "facts": facts, "expect": FAILS}
    assert run_case(per_gpu, read_case(one), knowledge(per_gpu)) == ""
    unread = {**one, "unknown": ["gpu[1].compute_capability"], "expect": {"outcome": "unknown"}}
    assert run_case(per_gpu, read_case(unread), knowledge(per_gpu)) == ""
