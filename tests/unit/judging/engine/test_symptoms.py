"""The matcher: what one message shows, in which order, and with which captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.judging.engine.cases import read_case, run_case
from fadoctor.judging.engine.symptom_facts import given_by
from fadoctor.judging.engine.symptoms import CAPTURE_LIMIT, Matcher, SymptomMatch, matcher_of
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.rule import MESSAGE_LIMIT
from tests.unit.judging.engine.builders import knowledge, rule, shipped, table
from tests.work import examples

if TYPE_CHECKING:
    from fadoctor.model.rule import Rule

BAD_DTYPE = "RuntimeError: the dtype is wrong"


def seen_as(rule_id: str, *symptoms: dict[str, Any], **keys: Any) -> Rule:
    return rule(rule_id, when={}, symptoms=list(symptoms), **keys)


def match(message: str, *rules: Rule) -> list[SymptomMatch]:
    return Matcher(knowledge(*rules)).match(message)


def ids(message: str, *rules: Rule) -> list[str]:
    return [each.rule_id for each in match(message, *rules)]


@pytest.mark.parametrize(
    ("symptom", "found"),
    [
        ({"anchor": "the dtype is wrong"}, 1),
        ({"anchor": "The dtype is wrong"}, 0),
        ({"anchor": "dtype is", "pattern": r"dtype is \w{1,10}$"}, 1),
        ({"anchor": "dtype is", "pattern": r"dtype is right"}, 0),
        ({"anchor": "the dtype", "near": ["RuntimeError", r"wrong\b"]}, 1),
        ({"anchor": "the dtype", "near": ["RuntimeError", "ValueError"]}, 0),
        ({"anchor": "the dtype", "absent": ["ValueError"]}, 1),
        ({"anchor": "the dtype", "absent": ["ValueError", "Runtime"]}, 0),
        ({"anchor": "(the dtype)"}, 0),
    ],
)
def test_anchor_pattern_near_and_absent(symptom: dict[str, Any], found: int) -> None:
    assert len(match(BAD_DTYPE, seen_as("bad-dtype", symptom))) == found


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("'Cache' object lacks 'seen'", ["lacks-it"]),
        ("'Heir' object lacks 'seen'", ["lacks-it"]),
        ("'Cache' object lacks 'other'", []),
        ("'Mine' object lacks 'seen'", []),
        ("'Mine' object lacks 'seen'; 'Static' object lacks 'seen'", ["lacks-it"]),
    ],
)
def test_only_what_a_table_lists_shows(message: str, found: list[str]) -> None:
    symptom = {
        "anchor": "object lacks",
        "pattern": r"'(?P<class>\w{1,20})' object lacks '(?P<name>\w{1,20})'",
        "listed": {"table": "lost", "class": "class", "name": "name", "heirs": "bases"},
    }
    keys = {"class": "word", "name": "word"}
    lost = table("lost", keys, {}, [{"class": "Cache Static", "name": "seen"}])
    bases = table(
        "bases", {"class": "word"}, {"of": "list"}, [{"class": "Heir", "of": "Odd Cache"}]
    )
    rules = knowledge(seen_as("lacks-it", symptom), tables=(lost, bases))
    assert [each.rule_id for each in Matcher(rules).match(message)] == found


def test_an_anchor_without_a_pattern_is_literal() -> None:
    assert ids("Expected (a % 8)", seen_as("bad-shape", {"anchor": "(a % 8)"})) == ["bad-shape"]


def test_a_rule_without_symptoms_never_shows() -> None:
    assert match(BAD_DTYPE, rule("bad-driver")) == []


def test_what_a_match_says() -> None:
    symptom = {
        "anchor": "undefined symbol",
        "pattern": r"(?P<file>[^\s:]{1,99}): undefined symbol: (?P<symbol>\w{1,99})",
        "message": "{file} wants {symbol}.",
        "severity": "warning",
        "confidence": "low",
    }
    other = {"anchor": "undefined reference"}
    (found,) = match(
        "ImportError: /a/b.so: undefined symbol: _Z1f\n", seen_as("abi", other, symptom)
    )
    assert found == SymptomMatch(
        rule_id="abi",
        index=1,
        severity=Severity.WARNING,
        confidence=Confidence.LOW,
        captures={"file": "/a/b.so", "symbol": "_Z1f"},
        message="/a/b.so wants _Z1f.",
        specific=2,
        start=13,
        end=44,
    )


def test_without_words_of_its_own_a_symptom_says_the_title() -> None:
    (found,) = match(BAD_DTYPE, seen_as("bad-dtype", {"anchor": "the dtype"}, title="Wrong dtype"))
    assert (found.message, found.severity) == ("Wrong dtype", Severity.ERROR)


def test_captures_are_harmless_and_bounded() -> None:
    symptom = {"anchor": "bad: ", "pattern": r"bad: (?P<what>[^!]{1,900})", "message": "<{what}>"}
    (found,) = match(
        "bad: \x1b[31m\u202e{what}\n{0.__class__}" + "x" * 900, seen_as("bad", symptom)
    )
    assert found.captures["what"].startswith("?[31m?{what} {0.__class__}xxx")
    assert len(found.captures["what"]) == CAPTURE_LIMIT
    assert found.message == f"<{found.captures['what']}>"


def test_a_group_that_took_no_part_is_not_captured() -> None:
    symptom = {
        "anchor": "bad dtype",
        "pattern": r"bad dtype(?: (?P<dtype>fp\d\d))?",
        "message": "{dtype}",
    }
    (found,) = match("bad dtype", seen_as("bad-dtype", symptom))
    assert (found.captures, found.message) == ({}, "unknown")


def test_the_end_of_a_long_message_is_looked_at() -> None:
    bad = seen_as("bad-dtype", {"anchor": "the dtype"})
    long = BAD_DTYPE + "\n" + "x" * MESSAGE_LIMIT
    assert match(long, bad) == []
    (found,) = match("y" * MESSAGE_LIMIT + BAD_DTYPE, bad)
    assert found.start == MESSAGE_LIMIT + BAD_DTYPE.index("the dtype")


def test_a_rule_shows_once_by_its_most_specific_symptom() -> None:
    bare = {"anchor": "the dtype"}
    near = {"anchor": "the dtype", "near": ["RuntimeError"], "severity": "note"}
    (found,) = match(BAD_DTYPE, seen_as("bad-dtype", bare, bare, near))
    assert (found.index, found.severity) == (2, Severity.NOTE)
    (found,) = match("the dtype", seen_as("bad-dtype", bare, bare, near))
    assert found.index == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"severity": "warning", "near": ["RuntimeError"]}),
        ({"near": ["RuntimeError"]}, {}),
        ({"pattern": r"the (?P<what>dtype)"}, {}),
        ({"near": ["the", "is"]}, {"near": ["the"]}),
        ({}, {"confidence": "medium"}),
        ({"pattern": "RuntimeError: the dtype"}, {}),
    ],
)
def test_the_most_likely_cause_stands_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    anchor = {"anchor": "the dtype"}
    better = seen_as("z-better", {**anchor, **first})
    worse = seen_as("a-worse", {**anchor, **second})
    assert ids(BAD_DTYPE, worse, better) == ["z-better", "a-worse"]


def test_a_root_stands_before_what_it_explains() -> None:
    anchor = {"anchor": "the dtype"}
    root = seen_as("z-root", {**anchor, "severity": "note"})
    between = seen_as("y-between", anchor, explained_by=["z-root", "not-there"])
    last = seen_as("a-last", {**anchor, "near": ["Runtime"]}, explained_by=["y-between"])
    alone = seen_as("c-alone", anchor)
    order = ["z-root", "y-between", "a-last", "c-alone"]
    assert ids(BAD_DTYPE, last, alone, between, root) == order


def test_rules_that_explain_each_other_all_show() -> None:
    anchor = {"anchor": "the dtype"}
    one = seen_as("one", anchor, explained_by=["two", "one"])
    two = seen_as("two", anchor, explained_by=["one"])
    assert sorted(ids(BAD_DTYPE, one, two)) == ["one", "two"]


def test_distinct_anchors_as_bytes() -> None:
    one = seen_as("one", {"anchor": "the dtype"}, {"anchor": "größer"})
    two = seen_as("two", {"anchor": "the dtype", "near": ["x"]})
    assert Matcher(knowledge(one, two)).anchors() == {b"the dtype", "größer".encode()}


@settings(deadline=None, max_examples=examples(60))
@given(text=st.text(max_size=300), data=st.data())
def test_any_text_around_an_anchor_can_be_matched(text: str, data: st.DataObject) -> None:
    matcher = Matcher(shipped())
    anchor = data.draw(st.sampled_from(sorted(matcher.anchors()))).decode()
    message = text + anchor + text
    for found in matcher.match(message):
        assert 0 <= found.start < found.end <= len(message)
        assert found.message.isprintable()


def test_a_text_without_any_anchor_shows_nothing() -> None:
    matcher = Matcher(shipped())
    text = "  File 'a.py', line 3, in f\n    g(x)\n" * 400
    assert not any(anchor in text.encode() for anchor in matcher.anchors())
    assert matcher.match(text) == []


@pytest.mark.parametrize(
    ("log", "expect", "complaint"),
    [
        (BAD_DTYPE, {"outcome": "fail"}, ""),
        (BAD_DTYPE, {"outcome": "fail", "message": "is wrong", "captures": {"what": "wrong"}}, ""),
        ("the dtype is fine", {"outcome": "pass"}, ""),
        ("the dtype is fine", {"outcome": "fail"}, "the log shows nothing"),
        (BAD_DTYPE + "!", {"outcome": "fail"}, "the log shows bad-end, bad-dtype"),
        (BAD_DTYPE, {"outcome": "pass"}, "the log shows it, by symptom 0"),
        (BAD_DTYPE, {"outcome": "unknown"}, "a log can fail or pass, not unknown"),
        (BAD_DTYPE, {"outcome": "fail", "message": "no"}, "no message holds 'no': 'It is wrong.'"),
        (BAD_DTYPE, {"outcome": "fail", "captures": {"x": "y"}}, "captures {'what': 'wrong'}"),
    ],
)
def test_cases_with_a_log(log: str, expect: dict[str, Any], complaint: str) -> None:
    symptom = {
        "anchor": "the dtype is",
        "pattern": r"the dtype is (?P<what>wrong)",
        "message": "It is {what}.",
    }
    mine = seen_as("bad-dtype", symptom)
    other = seen_as("bad-end", {"anchor": "wrong!", "near": ["the", "dtype"]})
    case = read_case({"name": "a case", "log": log, "expect": expect})
    assert run_case(mine, case, knowledge(mine, other)) == complaint


TWO_LINES = "torch is old here\nthe dtype is wrong, says flash\nxformers is fine"


@pytest.mark.parametrize(
    ("words", "found"),
    [(["flash"], 1), (["flash", "dtype"], 1), (["torch"], 0), (["xformers"], 0), (["is wrong"], 1)],
)
def test_what_must_stand_in_the_same_line(words: list[str], found: int) -> None:
    rule = seen_as("bad-dtype", {"anchor": "the dtype", "same_line": words})
    assert len(match(TWO_LINES, rule)) == found


def test_a_match_over_two_lines_has_both() -> None:
    symptom = {"anchor": "the dtype", "pattern": r"old here\nthe dtype", "same_line": ["torch"]}
    assert len(match(TWO_LINES, seen_as("bad-dtype", symptom))) == 1


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"torch.version": Known("2.6.0", "line 1")}, 1),
        ({"torch.version": Known("2.8.0", "line 1")}, 0),
        ({"torch.version": Unknown("nobody says", "log")}, 0),
        ({}, 0),
    ],
)
def test_what_hangs_on_facts_shows_only_where_they_surely_say_so(
    facts: dict[str, Fact], found: int
) -> None:
    symptom = {"anchor": "the dtype", "given": {"torch.version": {"below": "2.7"}}}
    rules = knowledge(seen_as("bad-dtype", symptom))
    environment = Environment("0", Target("log", "log", "test"), facts)
    given = given_by(lambda: environment, Matrix(rules.tables))
    assert len(Matcher(rules, given).match(BAD_DTYPE)) == found
    assert Matcher(rules).match(BAD_DTYPE) == []


def test_symptoms_are_made_ready_once() -> None:
    rules = knowledge(seen_as("one", {"anchor": "the dtype is wrong", "message": "It is."}))
    matcher = matcher_of(rules)
    assert matcher_of(rules) is matcher
    assert len(matcher.match(BAD_DTYPE)) == 1
    assert matcher_of(msgspec.structs.replace(rules, rules=())).match(BAD_DTYPE) == []
