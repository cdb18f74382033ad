"""Small rules, tables and environments, built in one line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.evaluate import Judgement, evaluate
from fadoctor.judging.engine.judge import Assessment, judge
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.rule import Knowledge, Rule, Table
from tests.shipped import compiled

UNREAD = Unknown("could not be read", "test")
ABSENT = Absent("test")

Facts = Mapping[str, Any]


def fact_of(value: Any) -> Fact:
    """Return a fact: None is Absent, a fact is itself, anything else is Known."""
    if value is None:
        return ABSENT
    return value if isinstance(value, Known | Absent | Unknown) else Known(value, "test")


def environment(facts: Facts) -> Environment:
    values = {name: fact_of(value) for name, value in facts.items()}
    return Environment("0", Target("facts", "test", "test"), values)


def rule(rule_id: str = "some-rule", **keys: Any) -> Rule:
    plain = {
        "id": rule_id,
        "title": "A title",
        "since": "0.1.0",
        "area": "area",
        "severity": "error",
        "confidence": "high",
        "when": {"host.os": "linux"},
        "message": "A message.",
        "why": "A reason.",
        "references": [],
        "verified": "reproduced",
    }
    return msgspec.convert({**plain, **keys}, Rule)


def table(
    name: str,
    keys: dict[str, str],
    columns: dict[str, str],
    rows: Iterable[dict[str, Any]],
    *,
    complete: bool = False,
) -> Table:
    plain = {"keys": keys, "columns": columns, "rows": list(rows), "complete": complete}
    return msgspec.convert(
        {"table": name, "doc": "d", "references": [], "verified": "reproduced", **plain}, Table
    )


def knowledge(*rules: Rule, tables: Iterable[Table] = ()) -> Knowledge:
    return Knowledge("1", "0" * 64, rules, {each.table: each for each in tables})


def scope_of(facts: Facts, *tables: Table, **keys: Any) -> Scope:
    matrix = Matrix({each.table: each for each in tables})
    return Scope(environment(facts), matrix, rule(**keys), {})


def truth(condition: dict[str, Any], facts: Facts, *tables: Table, **keys: Any) -> Truth:
    return holds(condition, scope_of(facts, *tables, **keys))


def judgements(one: Rule, facts: Facts, *tables: Table) -> list[Judgement]:
    return evaluate(one, environment(facts), Matrix({each.table: each for each in tables}))


def outcomes(one: Rule, facts: Facts, *tables: Table) -> dict[str, str]:
    """Return subject -> outcome."""
    return {each.subject: each.outcome.value for each in judgements(one, facts, *tables)}


def assess(facts: Facts, *rules: Rule, tables: Iterable[Table] = ()) -> Assessment:
    return judge(environment(facts), knowledge(*rules, tables=tables))


@cache
def shipped() -> Knowledge:
    """Return the rules and tables of this checkout, compiled once for all tests."""
    return compiled().knowledge
