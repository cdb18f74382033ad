"""Three-valued conditions: every operator, every kind of fact on either side, nesting."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.engine.condition import Truth, holds, lacks_the_first
from fadoctor.judging.engine.operators import OPERATORS
from fadoctor.model.rule import OPERATORS as PAIRS
from tests.unit.judging.engine.builders import ABSENT, UNREAD, scope_of, table, truth

TRUE, FALSE, NOT_THERE, UNKNOWN = Truth.TRUE, Truth.FALSE, Truth.NOT_THERE, Truth.UNKNOWN

V = "torch.version"


@pytest.mark.parametrize(
    ("value", "test", "expected"),
    [
        ("2.10.0", {"is": "2.10.0"}, TRUE),
        ("2.10.0", {"is": "2.10"}, TRUE),
        ("2.10.0", {"is": "2.1.0"}, FALSE),
        ("2.10.0", {"not": "2.10"}, FALSE),
        ("2.10.0+cu128", {"is": "2.10.0"}, FALSE),
        ("2.6.0a0+nv25.01", {"not": "2.6.0"}, TRUE),
        ("12", {"is": 12}, TRUE),
        (12, {"is": "12"}, TRUE),
        (12, {"not": 13}, TRUE),
        ("linux", {"is": "linux"}, TRUE),
        ("linux", {"is": "Linux"}, FALSE),
        (True, {"is": True}, TRUE),
        (True, {"is": False}, FALSE),
        (True, {"is": 1}, FALSE),
        (1, {"is": True}, FALSE),
        ("true", {"is": True}, FALSE),
        ("a", {"in": ["a", "b"]}, TRUE),
        ("c", {"in": ["a", "b"]}, FALSE),
        ("c", {"in": []}, FALSE),
        ("8.0", {"in": ["8", "9"]}, TRUE),
        ("a", {"not_in": ["a"]}, FALSE),
        ("c", {"not_in": ["a"]}, TRUE),
        ("ab", {"in": "abc"}, UNKNOWN),
        ("8.9", {"below": "8.10"}, TRUE),
        ("8.10", {"below": "8.9"}, FALSE),
        ("8.0", {"below": "8"}, FALSE),
        ("8.0", {"at_least": "8"}, TRUE),
        ("2.6.0a0", {"below": "2.6"}, TRUE),
        ("2.6.0+cu126", {"at_least": "2.6"}, TRUE),
        (7, {"below": 8}, TRUE),
        (8_000_000_000, {"at_least": 7_999_999_999}, TRUE),
        ("weird", {"below": "8"}, UNKNOWN),
        ("weird", {"at_least": "8"}, UNKNOWN),
        ("8", {"below": "weird"}, UNKNOWN),
        (("8", "9"), {"below": "10"}, UNKNOWN),
        ("2.6.0", {"satisfies": ">=2.5,<2.7"}, TRUE),
        ("2.7.0", {"satisfies": ">=2.5,<2.7"}, FALSE),
        ("2.7.0", {"violates": ">=2.5,<2.7"}, TRUE),
        ("2.6.0a0+nv25.01", {"satisfies": ">=2.5"}, TRUE),
        ("2.6.0", {"satisfies": ""}, TRUE),
        ("2.6.0+cu126", {"satisfies": "==2.6.0"}, TRUE),
        ("2.6.0", {"satisfies": "about 2"}, UNKNOWN),
        ("2.14.1", {"patch_of": "==2.14.0"}, TRUE),
        ("2.9.0+cu130", {"patch_of": "==2.9.1"}, TRUE),
        ("2.1.2", {"patch_of": "==2.14.0"}, FALSE),
        ("2.14.1", {"patch_of": ">=2.14.0,<2.15"}, FALSE),
        ("2.15.0", {"not_patch_of": "==2.14.0"}, TRUE),
        ("2.14.1", {"not_patch_of": ">=2.15"}, TRUE),
        ("2.14.1", {"patch_of": "two"}, UNKNOWN),
        ("weird", {"violates": ">=2"}, UNKNOWN),
        (("8.0", "9.0"), {"overlaps": ["9.0"]}, TRUE),
        (("8.0", "9.0"), {"overlaps": ["10.0"]}, FALSE),
        (("8.0",), {"disjoint": ["10.0"]}, TRUE),
        ((), {"overlaps": ["10.0"]}, FALSE),
        ("8.0", {"overlaps": ["8.0"]}, UNKNOWN),
        (("8.0",), {"disjoint": "8.0"}, UNKNOWN),
        (("a", "b"), {"contains": "a"}, TRUE),
        (("a", "b"), {"lacks": "a"}, FALSE),
        ({"triton": "==3.2.0"}, {"contains": "triton"}, TRUE),
        ("libcudart.so.12", {"contains": "so.12"}, TRUE),
        ("libcudart.so.12", {"lacks": "so.11"}, TRUE),
        (12, {"contains": "1"}, UNKNOWN),
        ("a", {"present": True}, TRUE),
        ("a", {"present": False}, FALSE),
        ("2.7", {"at_least": "2.6", "below": "2.8"}, TRUE),
        ("2.9", {"at_least": "2.6", "below": "2.8"}, FALSE),
    ],
)
def test_operators(value: Any, test: dict[str, Any], expected: Truth) -> None:
    assert truth({V: test}, {V: value}) is expected


@pytest.mark.parametrize("name", sorted(OPERATORS))
@pytest.mark.parametrize(
    ("fact", "operand", "expected"),
    [
        (ABSENT, "1", NOT_THERE),
        (UNREAD, "1", UNKNOWN),
        ("1", ABSENT, NOT_THERE),
        ("1", UNREAD, UNKNOWN),
        (ABSENT, UNREAD, NOT_THERE),
        (UNREAD, ABSENT, NOT_THERE),
        (UNREAD, UNREAD, UNKNOWN),
    ],
)
def test_absent_makes_a_test_false_and_unknown_makes_it_unknown(
    name: str, fact: Any, operand: Any, expected: Truth
) -> None:
    assert truth({V: {name: "$host.glibc"}}, {V: fact, "host.glibc": operand}) is expected


@pytest.mark.parametrize(
    ("fact", "wanted", "expected"),
    [
        (ABSENT, True, NOT_THERE),
        (ABSENT, False, TRUE),
        (UNREAD, True, UNKNOWN),
        (UNREAD, False, UNKNOWN),
    ],
)
def test_presence_of_what_is_not_known(fact: Any, wanted: bool, expected: Truth) -> None:  # noqa: FBT001
    assert truth({V: {"present": wanted}}, {V: fact}) is expected


def test_every_operator_of_the_format_can_be_evaluated() -> None:
    assert {name for pair in PAIRS for name in pair} == {*OPERATORS, "present"}


def test_a_scalar_is_the_same_as_is() -> None:
    facts = {V: "2.10.0", "host.wsl": True, "gpu.count": 2}
    assert truth({V: "2.10", "host.wsl": True, "gpu.count": 2}, facts) is TRUE


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (TRUE, TRUE, TRUE),
        (TRUE, FALSE, FALSE),
        (TRUE, UNKNOWN, UNKNOWN),
        (FALSE, UNKNOWN, FALSE),
        (NOT_THERE, UNKNOWN, NOT_THERE),
        (NOT_THERE, TRUE, NOT_THERE),
    ],
)
def test_one_false_test_decides_a_mapping(first: Truth, second: Truth, expected: Truth) -> None:
    facts = {"host.os": FACTS[first], "host.libc": FACTS[second]}
    assert truth({"host.os": "x", "host.libc": "x"}, facts) is expected
    assert truth({"host.libc": "x", "host.os": "x"}, facts) is expected


@pytest.mark.parametrize("first", [FALSE, NOT_THERE])
def test_of_two_false_tests_the_first_decides(first: Truth) -> None:
    second = NOT_THERE if first is FALSE else FALSE
    facts = {"host.os": FACTS[first], "host.libc": FACTS[second]}
    assert truth({"host.os": "x", "host.libc": "x"}, facts) is first


def test_what_comes_after_a_false_test_is_not_read() -> None:
    scope = scope_of({"host.os": "y", "host.libc": "x"})
    assert holds({"host.os": "x", "host.libc": "x"}, scope) is FALSE
    assert list(scope.read) == ["host.os"]


def test_one_condition_means_what_each_rule_makes_of_its_names() -> None:
    condition, facts = {"name": "x"}, {"host.os": "x", "host.libc": "y"}
    one, other = (
        scope_of(facts, let={"name": ["host.os"]}),
        scope_of(facts, let={"name": ["host.libc"]}),
    )
    for _ in range(2):
        assert (holds(condition, one), holds(condition, other)) == (TRUE, FALSE)
    assert holds({"name": "y"}, one) is FALSE


FACTS: dict[Truth, Any] = {TRUE: "x", FALSE: "y", NOT_THERE: ABSENT, UNKNOWN: UNREAD}
"""What makes the test `is: x` come to each truth."""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (TRUE, UNKNOWN, TRUE),
        (TRUE, NOT_THERE, TRUE),
        (UNKNOWN, FALSE, UNKNOWN),
        (UNKNOWN, NOT_THERE, UNKNOWN),
        (FALSE, NOT_THERE, FALSE),
        (FALSE, FALSE, FALSE),
        (NOT_THERE, NOT_THERE, NOT_THERE),
    ],
)
def test_one_true_branch_decides_any(first: Truth, second: Truth, expected: Truth) -> None:
    facts = {"host.os": FACTS[first], "host.libc": FACTS[second]}
    branches = [{"host.os": "x"}, {"host.libc": "x"}]
    assert truth({"any": branches}, facts) is expected
    assert truth({"any": branches[::-1]}, facts) is expected


def test_any_within_any_within_all() -> None:
    inner = {"any": [{"host.os": "windows"}, {"host.libc": "musl", "host.wsl": True}]}
    condition = {V: {"at_least": "2"}, "any": [{"gpu.count": 0}, inner]}
    facts = {V: "2.6", "gpu.count": 1, "host.os": "linux", "host.libc": "musl", "host.wsl": UNREAD}
    assert truth(condition, facts) is UNKNOWN
    assert truth(condition, {**facts, "host.wsl": True}) is TRUE
    assert truth(condition, {**facts, "host.wsl": False}) is FALSE
    assert truth(condition, {**facts, V: None}) is NOT_THERE


def test_an_operand_can_be_a_fact_a_version_part_or_a_literal_with_a_dollar_inside() -> None:
    facts = {V: "2.10.0", "flash_attn.wheel.torch": "2.10"}
    assert truth({"flash_attn.wheel.torch": {"is": "$torch.version.minor"}}, facts) is TRUE
    assert truth({V: {"not": "2$10"}}, facts) is TRUE


PINS = table(
    "pins",
    {"torch": "word"},
    {"triton": "version"},
    [{"torch": "2.6", "triton": "3.2.0"}, {"torch": "2.5", "triton": None}, {"torch": "2.3"}],
)


@pytest.mark.parametrize(
    ("requires", "torch", "expected"),
    [
        ({"triton": "3.1.0"}, "2.6", FALSE),  # the metadata outranks the table
        ({"numpy": ""}, "2.6", TRUE),  # not there: the table answers
        (ABSENT, "2.6", TRUE),
        (UNREAD, "2.6", UNKNOWN),  # not Absent: nothing takes its place
        (ABSENT, "2.5", NOT_THERE),
        (ABSENT, "2.4", UNKNOWN),
        (ABSENT, "2.3", UNKNOWN),  # a blank is not known
    ],
)
def test_let_takes_the_first_that_is_not_absent(requires: Any, torch: str, expected: Truth) -> None:
    found = truth(
        {"triton.version": {"is": "$pin"}},
        {"torch.requires": requires, V: torch, "triton.version": "3.2.0"},
        PINS,
        rows={"r": {"table": "pins", "torch": V}},
        let={"pin": ["torch.requires.triton", "r.triton"]},
    )
    assert found is expected


def test_a_name_can_be_tested_and_be_made_of_another_name() -> None:
    let = {"mine": ["host.glibc"], "best": ["env.CC", "mine"]}
    facts = {"host.glibc": "2.35", "env.CC": None}
    assert truth({"best": {"at_least": "2.30"}}, facts, let=let) is TRUE


def test_a_failure_names_all_its_evidence() -> None:
    scope = scope_of({"host.os": "x", "host.libc": "y"})
    assert holds({"any": [{"host.os": "x"}, {"host.libc": "y"}]}, scope) is TRUE
    assert list(scope.read) == ["host.os", "host.libc"]


@pytest.mark.parametrize("fact", [None, UNREAD, "2.6.0"], ids=["absent", "unknown", "known"])
@pytest.mark.parametrize(
    "when",
    [
        {V: {"below": "2.7"}}, {V: "2.6.0"}, {V: {"present": True}}, {V: {"present": False}},
        {V: {"present": False}, "host.os": "linux"}, {V: "$host.os"}, {"any": [{V: "2.6.0"}]},
        {"pin": {"below": "2.7"}}, {"row.version": "2.6.0"}, {"gpu.name": "2.6.0"},
    ],
    ids=str,
)  # fmt: skip
def test_short_way_says_and_reads_what_the_long_one_does(when: dict[str, Any], fact: Any) -> None:
    """A rule about what is not there is left at its first key, and by nothing else."""
    facts = {V: fact, "host.os": "linux", "gpu[0].name": fact}
    rows = {"row": {"table": "t", "name": V}}
    shown = table("t", {"name": "word"}, {"version": "text"}, [])
    short, long = (scope_of(facts, shown, when=when, let={"pin": [V]}, rows=rows) for _ in "12")
    short.bindings = long.bindings = {"gpu": "gpu[0]"}
    is_plain = next(iter(when)) in {V, "gpu.name"} and when.get(V) != {"present": False}
    assert lacks_the_first(short.rule, short) is (is_plain and fact is None)
    if short.read:
        assert holds(long.rule.when, long) is NOT_THERE
        assert short.read == long.read
