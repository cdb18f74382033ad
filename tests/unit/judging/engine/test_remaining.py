"""A look-up of which only some keys are known: what all of its rows say holds."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.condition import Truth
from fadoctor.judging.engine.remaining import truth_of
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Unknown
from tests.unit.judging.engine.builders import UNREAD, environment, rule, table

BUILDS = table(
    "builds",
    {"version": "release", "build": "word"},
    {"code": "list"},
    [
        {"version": "2.6.0", "build": "old", "code": "8.0"},
        {"version": "2.7.0", "build": "old", "code": "8.0 9.0"},
        {"version": "2.8.0", "build": "old", "code": {"unknown": "nobody looked"}},
        {"version": "2.6.0", "build": "mixed", "code": "8.0"},
        {"version": "2.7.0", "build": "mixed", "code": "8.0 12.0"},
    ],
)


@pytest.mark.parametrize(
    ("build", "wanted", "expected"),
    [
        ("old", "12.0", Truth.FALSE),
        ("old", "8.0", Truth.UNKNOWN),  # one row was not read
        ("mixed", "8.0", Truth.TRUE),
        ("mixed", "12.0", Truth.UNKNOWN),
        ("none", "12.0", Truth.UNKNOWN),  # the table knows nothing about it
    ],
)
def test_rows_that_remain_decide(build: str, wanted: str, expected: Truth) -> None:
    one = rule(
        rows={"row": {"table": "builds", "version": "torch.version", "build": f"={build}"}},
        fixes=[
            {
                "id": "one",
                "title": "t",
                "when": {"row.code": {"contains": wanted}},
                "steps": [{"advice": "a"}],
            }
        ],
    )
    scope = Scope(environment({"torch.version": UNREAD}), Matrix({"builds": BUILDS}), one, {})
    assert truth_of(scope, one.fixes[0]) is expected


@pytest.mark.parametrize(
    ("among", "expected"),
    [
        (("450.80.02", "524.999"), Truth.FALSE),
        (("525.60.13", "579.999"), Truth.TRUE),
        (("450.80.02", "579.999"), Truth.UNKNOWN),
        ((), Truth.UNKNOWN),
    ],
)
def test_values_that_remain_decide(among: tuple[str, ...], expected: Truth) -> None:
    """The driver of a text that names only the CUDA that it supports is one of a range."""
    when = {"driver.version": {"at_least": "525.60.13"}}
    fix = {"id": "one", "title": "t", "when": when, "steps": [{"advice": "a"}]}
    one = rule(fixes=[fix])
    driver = Unknown("the text does not say", "text:1", among)
    scope = Scope(environment({"driver.version": driver}), Matrix({}), one, {})
    assert truth_of(scope, one.fixes[0]) is expected
