"""What has changed is told by name, and what is meant to is listed with its reason."""

from __future__ import annotations

import pytest

from tools.answers import DIFFERENCES, digest, read_differences, read_recorded, unexpected

BEFORE = read_recorded("rules/a/log with words/explain 111\nhosts/b/check 222\n")


def test_names_may_hold_spaces() -> None:
    assert BEFORE == {"rules/a/log with words/explain": "111", "hosts/b/check": "222"}


def test_what_differs_came_or_went_is_told() -> None:
    now = {"hosts/b/check": digest("other"), "hosts/c/check": "333"}
    assert unexpected(BEFORE, now, ()) == sorted({*BEFORE, *now})
    assert unexpected(BEFORE, BEFORE, ()) == []


def test_a_pattern_allows_what_it_names_and_nothing_else() -> None:
    patterns = read_differences("# why\nhosts/*  gcc is asked first\n")
    assert patterns == {"hosts/*": "gcc is asked first"}
    assert unexpected(BEFORE, {}, patterns) == ["rules/a/log with words/explain"]


def test_a_pattern_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        read_differences("hosts/*\n")


def test_each_listed_difference_has_its_reason() -> None:
    assert all(read_differences(DIFFERENCES.read_text("utf-8")).values())
