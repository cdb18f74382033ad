"""Patterns are asked only of the lines that hold their words, and find there what they find."""

from __future__ import annotations

import re
from typing import cast

import pytest

from fadoctor.syntax.either import Either, either
from fadoctor.syntax.likely_lines import KEPT, likely, likely_lines, likely_numbers, matches, stands
from fadoctor.syntax.patterns import LONG, LatePattern, compiled

FILLER = tuple(
    f"step {number} loss 0.{number} saving shard {number} of 900" for number in range(900)
)
TEXT = (
    "Torch is here",
    *FILLER[:400],
    "a driver 550.54 and torch",
    *FILLER[400:],
    "the end: no GPU",
)


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        ("torch", 0),
        ("(?i)torch", 0),
        (r"driver \d{3}", 0),
        (r"(?:driver|gpu) ?\d", re.IGNORECASE),
        (r"no (?:GPU|NPU)$", 0),
        ("nowhere", 0),
        (r"\d{3}", 0),
        (r"^step 7\d\d\b", 0),
    ],
)
def test_likely_lines_are_all_in_which_a_pattern_matches(pattern: str, flags: int) -> None:
    plain = re.compile(pattern, flags | re.ASCII)
    asked = compiled(pattern, flags)
    expected = [number for number, line in enumerate(TEXT) if plain.search(line)]
    found = likely_numbers(TEXT, asked)
    assert sorted(found) == list(found)
    assert set(expected) <= set(found)
    assert [each[0] for each in matches(asked, TEXT)] == [
        each[0] for line in TEXT for each in plain.finditer(line)
    ]
    assert stands(asked, TEXT) == bool(expected)


def test_a_pattern_that_stands_in_no_line_is_asked_of_none_and_not_compiled() -> None:
    asked = LatePattern("kernel of (?:attention|softmax) here", re.ASCII)
    assert list(likely(TEXT, cast("re.Pattern[str]", asked))) == []
    assert not asked._is_made


def test_two_patterns_share_one_look_through_the_text() -> None:
    likely_lines.cache_clear()
    lines = [*TEXT]
    for word in ("driver 5", "driver 6", "torch", "no GPU"):
        stands(compiled(re.escape(word)), lines)
    assert likely_lines.cache_info().misses == 1
    assert KEPT >= 1


def test_a_plain_pattern_of_python_is_asked_of_all() -> None:
    assert list(likely_numbers(TEXT, re.compile("torch"))) == list(range(len(TEXT)))


def test_letters_whose_small_form_is_longer_shift_no_line() -> None:
    lines = ("\u0130" * 30, "Torch", "x")
    assert list(likely(lines, compiled("(?i)torch"))) == ["Torch"]


ALTERNATIVES = (
    r"torch(?:vision|audio)|comfy|\bcolab\b",
    r"(?i:no gpu|(?:my|the) laptop)|^the end\b|(?s:driver.{0,60}step)",
    r"(?i)DRIVER \d{3}|nothing of it",
    r"(?:no|a)(?: gpu| npu)?$|x(?:y)?",
    r"loss 0\.5 saving shard 5 of 900\s+loss",
    r"(?i:end: no gpu\Z)",
    r"(?<=\n)step 0 loss",
)


@pytest.mark.parametrize("flags", [0, re.MULTILINE])
@pytest.mark.parametrize("pattern", ALTERNATIVES)
def test_alternatives_stand_where_the_whole_pattern_does(pattern: str, flags: int) -> None:
    text = "\n".join(TEXT)
    assert len(text) > LONG
    for part in (text, text[:LONG], "\n".join(TEXT[:402]), "\n".join(FILLER)):
        expected = re.search(pattern, part, flags | re.ASCII) is not None
        assert Either(pattern, flags).stands(part) == expected


@pytest.mark.parametrize("pattern", ALTERNATIVES)
def test_alternatives_stand_in_the_lines_that_the_whole_pattern_matches(pattern: str) -> None:
    whole = re.compile(pattern, re.ASCII)
    expected = {number for number, line in enumerate(TEXT) if whole.search(line)}
    assert Either(pattern).numbers(TEXT) == expected
    assert Either(pattern).stands_in(TEXT) == bool(expected)


def test_of_many_alternatives_only_those_are_compiled_whose_words_stand_there() -> None:
    asked = either(r"(?i:torchvision|torchaudio|my driver|a driver|the (?:card|laptop))")
    assert asked.stands("\n".join(TEXT))
    made = [part.pattern.pattern for part in asked.parts if part.pattern._is_made]  # type: ignore[attr-defined]
    assert made == ["a driver"]


def test_a_window_without_the_words_compiles_nothing() -> None:
    asked = LatePattern("torch (?:is|was) here", re.ASCII | re.IGNORECASE)
    text = "\n".join(TEXT)
    assert asked.search(text, 5_000, 9_000) is None
    assert not asked._is_made
    assert asked.search(text, 0, 100) is not None


def test_what_stands_right_before_a_window_still_counts() -> None:
    asked = compiled(r"(?<=driver )550")
    text = "x" * 4_000 + " driver 550.54" + "y" * 4_000
    at = text.index("550")
    assert asked.search(text, at, at + 20) is not None
