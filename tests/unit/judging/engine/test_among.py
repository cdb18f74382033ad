"""A fact that is one of a few: what fails for each of them fails, what holds for each holds."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.judging.engine.evaluate import MOST_TRIED
from fadoctor.model.fact import Fact, Unknown
from tests.unit.judging.engine.builders import assess, outcomes, rule, table

BUILDS = table(
    "builds",
    {"build": "word"},
    {"sm": "list"},
    [
        {"build": "cu118", "sm": "8.0 9.0"},
        {"build": "cu126", "sm": "8.0 9.0"},
        {"build": "cu128", "sm": "8.0 9.0 12.0"},
        {"build": "cu129", "sm": {"unknown": "nobody has read it"}},
    ],
)
NO_CODE = rule(
    rows={"b": {"table": "builds", "build": "torch.build"}},
    when={"b.sm": {"lacks": "12.0"}, "host.os": "linux"},
    message="torch ({torch.build}) has no code for it",
)


def among(*values: str) -> Unknown:
    return Unknown("it is one of a few", "text:1", values, " or ".join(values))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (among("cu118", "cu126"), "fail"),
        (among("cu128"), "pass"),
        (among("cu126", "cu128"), "unknown"),
        (among("cu126", "cu129"), "unknown"),
        (Unknown("nobody knows", "text"), "unknown"),
    ],
)
def test_each_of_the_values_is_asked(build: Fact, expected: str) -> None:
    facts = {"torch.build": build, "host.os": "linux"}
    assert outcomes(NO_CODE, facts, BUILDS) == {"environment": expected}


def test_the_ends_of_a_range_decide_what_lies_between() -> None:
    older = {"driver.version": among("1.0", "449.999")}
    assert outcomes(rule(when={"driver.version": {"below": "525"}}), older)["environment"] == "fail"
    assert outcomes(rule(when={"driver.version": {"below": "400"}}), older)["environment"] == (
        "unknown"
    )


def test_two_facts_are_tried_together_and_not_without_end() -> None:
    both = rule(when={"a.version": {"below": "3"}, "b.version": {"below": "3"}})
    few = {"a.version": among("1", "2"), "b.version": among("1", "2")}
    assert outcomes(both, few)["environment"] == "fail"
    many = among(*(f"1.{number}" for number in range(MOST_TRIED + 1)))
    assert outcomes(both, few | {"a.version": many})["environment"] == "unknown"


def test_another_unknown_leaves_it_open() -> None:
    facts = {"torch.build": among("cu118", "cu126"), "host.os": Unknown("not read", "test")}
    assert outcomes(NO_CODE, facts, BUILDS)["environment"] == "unknown"


def test_the_message_names_what_it_can_be() -> None:
    facts = {"torch.build": among("cu118", "cu126"), "host.os": "linux"}
    [finding] = assess(facts, NO_CODE, tables=[BUILDS]).findings
    assert finding.message == "torch (cu118 or cu126) has no code for it"


def test_it_survives_json_and_adds_nothing_to_other_facts() -> None:
    fact = among("cu118", "cu126")
    assert msgspec.json.decode(msgspec.json.encode(fact), type=Fact) == fact
    plain = msgspec.json.encode(Unknown("not read", "test"))
    assert plain == b'{"state":"unknown","reason":"not read","source":"test"}'
