"""What holds for every rule: on small random rules, tables and facts."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.judging.engine.condition import Truth
from fadoctor.judging.engine.operators import OPERATORS
from fadoctor.model.rule import OPERATORS as PAIRS
from fadoctor.model.rule import Rule
from tests.unit.judging.engine.builders import (
    ABSENT,
    UNREAD,
    assess,
    outcomes,
    rule,
    scope_of,
    table,
    truth,
)
from tests.work import examples

SMALL = settings(max_examples=examples(120), deadline=None, database=None)

VALUES = st.sampled_from(
    ["1", "2", "2.1", "2.1.0+x", "2.1a0", "text", "", "*", True, False, 0, 2, ("1", "2"), ()]
)
NOT_KNOWN = st.sampled_from([ABSENT, UNREAD])
NAMES = ["host.os", "driver.version", "torch.version", "torch.cuda", "gpu.count", "env.CC"]
PATHS = st.sampled_from([*NAMES, "torch.version.minor", "packages.installed.a", "r.cell", "named"])
STATES = VALUES | NOT_KNOWN
INSTALLED = st.sampled_from([{}, {"a": "1"}, {"a": ""}, {"b": ">=2"}]) | NOT_KNOWN
FACTS = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(NAMES, STATES), "packages.installed": INSTALLED}
)

TABLE = table(
    "small",
    {"word": "word", "range": "range"},
    {"cell": "text"},
    [
        {"word": "1 2", "range": ">=1,<2", "cell": "1"},
        {"word": "2", "range": "*", "cell": "2"},
        {"word": "*", "range": ">=2", "cell": {"unknown": "not read"}},
        {"word": "text", "range": ">=1"},
        {"word": "true", "range": ">=1", "cell": "1", "verified": "unverified"},
    ],
)
ROWS = st.fixed_dictionaries(
    {"table": st.just("small"), "word": st.sampled_from(NAMES), "range": st.sampled_from(NAMES)}
)
LETS = st.lists(st.sampled_from([*NAMES, "r.cell"]), min_size=1, max_size=3)

LITERALS = st.sampled_from(["1", "2.1", ">=2", "text", 2, True]) | st.just(["1", "2"])
OPERANDS = LITERALS | PATHS.map("${}".format)
TESTS = (
    st.sampled_from(["1", "text", True, 2])
    | st.booleans().map(lambda wanted: {"present": wanted})
    | st.dictionaries(st.sampled_from(sorted(OPERATORS)), OPERANDS, min_size=1, max_size=2)
)
PLAIN = st.dictionaries(PATHS, TESTS, max_size=3)
CONDITIONS = st.recursive(
    PLAIN,
    lambda inner: st.builds(
        lambda plain, branches: {**plain, "any": branches}, PLAIN, st.lists(inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    keys: dict[str, Any] = {"when": draw(CONDITIONS), "rows": {"r": draw(ROWS)}}
    keys["let"] = {"named": draw(LETS)}
    if draw(st.booleans()):
        keys["overruled_by"] = draw(CONDITIONS.filter(bool))
    return rule(**keys)


def outcome(one: Rule, facts: dict[str, Any]) -> str:
    [found] = outcomes(one, facts, TABLE).values()
    return found


@SMALL
@given(rules(), FACTS, st.sampled_from(["host.kernel", "vllm.version", "gpu[7].name"]), STATES)
def test_an_unrelated_fact_changes_no_outcome(
    one: Rule, facts: dict[str, Any], unrelated: str, value: Any
) -> None:
    assert outcome(one, {**facts, unrelated: value}) == outcome(one, facts)


@SMALL
@given(rules(), FACTS, st.sampled_from([*NAMES, "packages.installed"]))
def test_a_fact_that_becomes_unknown_never_makes_a_failure_pass(
    one: Rule, facts: dict[str, Any], lost: str
) -> None:
    before, after = outcome(one, facts), outcome(one, {**facts, lost: UNREAD})
    allowed = {
        "fail": {"fail", "unknown"},
        "unknown": {"unknown", "fail"} if one.overruled_by else {"unknown"},
        # Evidence that is lost overrules nothing any more.
        "pass": {"pass", "not_applicable", "unknown"} | ({"fail"} if one.overruled_by else set()),
        "not_applicable": {"not_applicable", "pass", "unknown"},
    }
    assert after in allowed[before]


@SMALL
@given(CONDITIONS, FACTS, st.sampled_from([*NAMES, "packages.installed"]), ROWS, LETS)
def test_what_is_decided_without_a_fact_stays_decided_with_it(
    condition: dict[str, Any], facts: dict[str, Any], name: str, row: dict[str, str], let: list[str]
) -> None:
    keys: dict[str, Any] = {"rows": {"r": row}, "let": {"named": let}}
    blind = truth(condition, {**facts, name: UNREAD}, TABLE, **keys)
    if blind is not Truth.UNKNOWN:
        seeing = truth(condition, facts, TABLE, **keys)
        assert (seeing is Truth.TRUE) == (blind is Truth.TRUE)
        assert seeing is not Truth.UNKNOWN or facts.get(name, UNREAD) is UNREAD


def test_a_mapping_is_no_member_of_a_mapping() -> None:
    assert OPERATORS["contains"]({"a": "1"}, {"a": "1"}) is None


@SMALL
@given(VALUES, VALUES)
def test_the_operators_of_a_pair_are_opposites(value: Any, operand: Any) -> None:
    for one, other in (pair for pair in PAIRS if pair[0] != "present"):
        answers = {OPERATORS[one](value, operand), OPERATORS[other](value, operand)}
        assert answers in ({True, False}, {None})


@SMALL
@given(VALUES, VALUES)
def test_equality_does_not_depend_on_the_side(value: Any, operand: Any) -> None:
    assert OPERATORS["is"](value, operand) == OPERATORS["is"](operand, value)
    assert OPERATORS["is"](value, value) is True


@SMALL
@given(FACTS, st.data())
def test_every_failure_is_a_finding_or_a_consequence(
    facts: dict[str, Any], data: st.DataObject
) -> None:
    """Causes come first here: circles of rules that explain each other are tested apart."""
    found: list[Rule] = []
    for index in range(data.draw(st.integers(1, 5))):
        causes = data.draw(st.lists(st.sampled_from([f"rule-{n}" for n in range(index + 1)])))
        when = {**data.draw(PLAIN), "host.os": data.draw(TESTS)}
        keys = {"rows": {"r": data.draw(ROWS)}, "let": {"named": ["host.os"]}}
        found.append(rule(f"rule-{index}", when=when, explained_by=causes, **keys))
    assessment = assess(facts, *found, tables=[TABLE])
    named = {finding.rule_id for finding in assessment.findings}
    named |= {each for finding in assessment.findings for each in finding.consequences}
    named |= {each.rule_id for each in assessment.errors}
    assert named == {each.rule.id for each in assessment.judgements if each.outcome.value == "fail"}


@SMALL
@given(st.text(max_size=30), st.text(max_size=30))
def test_filling_a_template_never_raises_and_never_fills_twice(template: str, value: str) -> None:
    scope = scope_of({"host.os": value, "x": "secret"})
    assert isinstance(scope.fill(template), str)
    assert scope.fill("{host.os}") == value
    assert scope.fill(f"{{host.os}}{template}").startswith(value)
