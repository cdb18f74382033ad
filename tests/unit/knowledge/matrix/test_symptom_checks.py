"""Symptoms whose patterns could run away, or cannot match what they say, are refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.check_symptoms import longest_match
from tests.unit.knowledge.matrix.folders import problems, rule_text

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "area/some-rule.yaml:{line} at `symptoms[0]{key}`: "


def complaints(folder: Path, symptom: str, **changes: str) -> list[str]:
    """Compile a rule with one symptom, given as the lines of a mapping."""
    lines = "".join(f"\n    {line}" for line in symptom.splitlines())
    text = rule_text(**{"symptoms": f"\n  -{lines[4:]}", **changes})
    return [each.partition("`: ")[2] for each in problems(folder, area__some_rule=text)]


def regex(pattern: str) -> str:
    return f"anchor: the dtype\npattern: '{pattern}'"


@pytest.mark.parametrize(
    "pattern",
    [
        "the dtype",
        "of the dtype is wrong",
        r"the dtype(?: is (?P<what>\w{1,20}))?",
        r"(?P<what>the dtype|not the dtype)",
        r"(?:a|b) the dtype (?=is)",
        r"\bthe dtype\b[^\n]{0,200}",
        r"(?:in the dtype ){1,3}",
        r"[^\n]{0,200}the dtype [^\n]{0,200}wrong",
        r"(?P<file>[^\s:]{1,300}): (?P<more>[^\n]{1,300})\n[^\n]{0,300}\nthe dtype",
        r"(?i:caution): the dtype",
        r"\d{1,9}\.[a-c]{1,9}d[^x]{1,9}x\S{1,90}\s the dtype",
    ],
)
def test_patterns_that_are_fine(tmp_path: Path, pattern: str) -> None:
    assert complaints(tmp_path, regex(pattern)) == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no atomic groups")
def test_atomic_groups_are_looked_into(tmp_path: Path) -> None:
    assert complaints(tmp_path, regex("(?>ab{0,9})the dtype")) == []
    assert complaints(tmp_path, regex("(?>ab{0,9}c{1,})the dtype")) == [UNBOUNDED]


UNBOUNDED = "has a repetition without a bound; write {0,200}"
NESTED = "has a repetition inside another one"
WITHOUT = "can match without the anchor"


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("the dtype.*", UNBOUNDED),
        (r"the dtype\s+", UNBOUNDED),
        (r"(?:the dtype)*?", UNBOUNDED),
        (r"the dtype(?! is\w*)", UNBOUNDED),
        (r"the dtype(?:[^\n]{0,200}\n){0,5}", NESTED),
        (r"the dtype(?:(?:ab?){2}c){2}", NESTED),
        (r"the dtype(?:ab|abc){0,9}", "has a choice inside a repetition"),
        (r"the dtype (is)", "has a group without a name; write (?:...) or (?P<name>...)"),
        (r"(?P<a>the dtype) (?P=a)", "refers back to a group"),
        (
            r"[^\n]{0,200}the dtype[^\n]{0,200}is[^\n]{0,200}wrong",
            "has too many wide repetitions in a row",
        ),
        (r"\w{0,400}\w{0,400}the dtype", "has too many wide repetitions in a row"),
        ("the dtype" + "x" * 1500, "is longer than 1500 characters"),
        ("the dtype[", "is not a regular expression: unterminated character set at position 9"),
        ("the type", WITHOUT),
        ("the (?:d|)type", WITHOUT),
        ("(?:the dtype)?", WITHOUT),
        ("(?:the dtype|it) is", WITHOUT),
        (r"the\sdtype", WITHOUT),
        ("(?i)the dtype", WITHOUT),
        ("(?i:the dtype)", WITHOUT),
        ("(?!the dtype)x", WITHOUT),
        ("", WITHOUT),
    ],
)
def test_patterns_that_are_refused(tmp_path: Path, pattern: str, complaint: str) -> None:
    expected = [complaint] if pattern else []
    assert complaints(tmp_path, regex(pattern)) == expected


@pytest.mark.parametrize("key", ["near", "absent"])
@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [("a.*", UNBOUNDED), ("(?:a{1,2}b){3}", NESTED), ("(", "is not a regular expression")],
)
def test_near_and_absent_are_checked_alike(
    tmp_path: Path, key: str, pattern: str, complaint: str
) -> None:
    (found,) = complaints(tmp_path, f"anchor: the dtype\n{key}: ['fine', '{pattern}']")
    assert found.startswith(complaint)


@pytest.mark.parametrize(
    ("symptom", "complaint"),
    [
        ("anchor: dtype", "must have 6 to 120 characters"),
        (f"anchor: {'x' * 121}", "must have 6 to 120 characters"),
        ('anchor: "the\\ndtype"', "must be part of one line"),
        ("anchor: the dtype\nmessage: It is {what}.", "no group what that takes part always"),
        (
            regex("the dtype(?: is (?P<what>x))?") + "\nmessage: It is {what}.",
            "no group what that takes part always",
        ),
        (
            regex("the dtype (?:is (?P<what>x)|y)") + "\nmessage: It is {what}.",
            "no group what that takes part always",
        ),
        (regex("the dtype(?!.{0,600} is)"), "looks further than 512 characters ahead"),
        ("anchor: the dtype\nseverity: error", "a wording cannot weigh more than its rule"),
    ],
)
def test_other_faults(tmp_path: Path, symptom: str, complaint: str) -> None:
    (found,) = complaints(tmp_path, symptom, severity="warning")
    assert complaint in found


def test_a_message_can_use_groups_that_always_take_part(tmp_path: Path) -> None:
    pattern = "the dtype (?P<what>is) (?:(?P<how>wrong)){1,2}"
    assert complaints(tmp_path, regex(pattern) + "\nmessage: It {what} {how}.") == []


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [("the dtype", 9), ("the dtype.{0,20}", 29), ("a(?:b|cd)(?!efg)", 3), ("the (dtype", 0)],
)
def test_the_longest_match_is_worked_out(pattern: str, longest: int) -> None:
    assert longest_match(pattern) == longest


def test_errors_name_file_line_and_key(tmp_path: Path) -> None:
    text = rule_text(symptoms="\n  - anchor: the dtype\n    near: [ok, 'a*']")
    place = PLACE.format(line=16, key=".near[1]")
    assert problems(tmp_path, area__some_rule=text) == [place + UNBOUNDED]


def test_a_rule_that_shows_only_in_logs_uses_no_facts(tmp_path: Path) -> None:
    found = complaints(tmp_path, "anchor: the dtype", when="")
    assert found == ["a rule that shows only in logs has no facts"]
    assert complaints(tmp_path, "anchor: the dtype", when="", message="It is so.") == []


LISTED = r"""anchor: the dtype
pattern: 'the dtype (?P<kind>[a-z]{1,9})'
listed: {table: %s}"""


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("no-such, kind: kind", "names a table, and groups of the pattern for its keys"),
        ("some-table, odd: kind", "names a table, and groups of the pattern for its keys"),
        ("some-table, gpu: other", "the pattern has no group other"),
        ("some-table, gpu: kind, heirs: no-such", "heirs is a table of one of these keys"),
    ],
)
def test_what_a_symptom_is_held_against_is_a_table(tmp_path: Path, listed: str, said: str) -> None:
    found = complaints(tmp_path, LISTED % listed)
    assert any(each.startswith(said) for each in found)


REFINES = """
  - of: {of}
    given: {given}
    message: {message}
"""


@pytest.mark.parametrize(
    ("of", "given", "message", "problem"),
    [
        ("complaint", "{log.vendor: amd}", "It says so.", []),
        (
            "no-such-rule",
            "{log.vendor: amd}",
            "It says so.",
            ["there is no other rule no-such-rule"],
        ),
        ("some-rule", "{log.vendor: amd}", "It says so.", ["there is no other rule some-rule"]),
        ("complaint", "{}", "It says so.", ["needs `given` or `near`"]),
        ("complaint", "{log.vendr: amd}", "It says so.", ["log.vendr is neither a fact"]),
        ("complaint", "{log.vendor: amd}", '"It is {log.vendor}."', ["holds no values"]),
    ],
)
def test_what_refines_names_general_rules_and_facts(
    tmp_path: Path, of: str, given: str, message: str, problem: list[str]
) -> None:
    refines = REFINES.format(of=of, given=given, message=message)
    text = rule_text(refines=refines)
    found = [each.partition("`: ")[2] for each in problems(tmp_path, area__some_rule=text)]
    assert len(found) == len(problem)
    assert all(each.startswith(begin) for each, begin in zip(found, problem, strict=True))
