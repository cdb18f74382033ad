"""The remaining nouns: errors speak for themselves, structures refuse what they do not know."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fadoctor.model.errors import (
    FadoctorError,
    InputError,
    RuleDataError,
    TargetError,
    UsageError,
)
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.overlays import Overlays
from fadoctor.model.rule import FixTemplate, Rule, StepTemplate, Table
from tests.unit.judging.engine.builders import rule, table


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        (FadoctorError("broken"), "broken", 4),
        (UsageError("no such option"), "no such option", 2),
        (TargetError("no interpreter"), "no interpreter", 2),
        (InputError("a.json", "not JSON"), "a.json: not JSON", 2),
        (RuleDataError("a.yaml", "is bad"), "a.yaml: is bad", 2),
        (RuleDataError("a.yaml", "is bad", line=3), "a.yaml:3: is bad", 2),
        (RuleDataError("a.yaml", "is bad", line=3, key="when"), "a.yaml:3 at `when`: is bad", 2),
    ],
)
def test_errors_build_their_sentence_and_have_an_exit_code(
    error: FadoctorError, text: str, code: int
) -> None:
    assert (str(error), error.exit_code) == (text, code)


def test_the_worst_severity_and_the_surest_confidence_come_first() -> None:
    assert [each.value for each in Severity] == ["error", "warning", "note"]
    assert [each.value for each in Confidence] == ["high", "medium", "low"]


@pytest.mark.parametrize("kind", [Rule, Table, FixTemplate, StepTemplate])
def test_no_unknown_key_is_taken(kind: type) -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"no_such_key": 1}, kind)


def test_rules_and_tables_survive_json() -> None:
    one = rule(when={"host.os": {"in": ["a", "b"]}}, let={"x": ["host.os"]}, for_each=["gpu"])
    assert msgspec.json.decode(msgspec.json.encode(one), type=Rule) == one
    rows: list[dict[str, Any]] = [
        {"k": 1, "c": ["x", "y"]},
        {"k": "2", "c": None},
        {"k": "3", "c": {"unknown": "why"}},
    ]
    two = table("some-table", {"k": "word"}, {"c": "list"}, rows)
    assert msgspec.json.decode(msgspec.json.encode(two), type=Table) == two


def test_overlays_are_described_as_typed() -> None:
    overlays = Overlays(("V100", "sm_90"), "550.54", "2.35", "3.11", "linux_x86_64")
    assert overlays.described() == (
        "--gpu V100",
        "--gpu sm_90",
        "--driver 550.54",
        "--glibc 2.35",
        "--python-version 3.11",
        "--platform linux_x86_64",
    )
    assert Overlays().described() == ()
