"""The words that a pattern needs: one of them is in every text that it matches."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.needed_words import MOST, needed_by_alternatives, needed_words
from tests.work import calls_of

KNOWN = [
    ("undefined symbol: _ZN", ("undefined",)),
    (r"(?i:Device) count is\b zero", ("device",)),
    (r"[Nn]ot a \w{1,20} Wheel", ("wheel",)),
    (r"(?:flash|xformers) (?:is|was) gone", ("flash", "xformers")),
    (r"(?:flash-attn|xformers)\d", ("flash-attn", "xformers")),
    (r"a(?:bc|bd|xy)e", ()),
    (r"ab|flash", ()),
    (r"(?:triton)?\d{3}", ()),
    (r"(?:triton){1,2}\d{3}", ("triton",)),
    (r"(?!triton)\d{3}", ()),
    (r"(?=triton)\w{3,9}", ("triton",)),
    (r"é(?i:clair)", ("clair",)),
    ("(", ()),
]


@pytest.mark.parametrize(("pattern", "words"), KNOWN)
def test_words_of_a_pattern(pattern: str, words: tuple[str, ...]) -> None:
    assert needed_words(pattern) == words


def test_words_that_are_known_already_are_left_out() -> None:
    assert needed_words("invalid device ordinal", "invalid device") == ("ordinal",)
    assert needed_words("invalid device", "an invalid device") == ()


def test_a_choice_of_many_words_is_none() -> None:
    many = [f"{chr(97 + number)}xyz" for number in range(MOST + 1)]
    assert needed_words("|".join(many)) == ()
    assert needed_words("|".join(many[:-1])) == tuple(many[:-1])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("no gpu|cpu", (("no gpu",), ("cpu",))),
        (r"(?:显卡|gpu) ?坏了|\d{3}", (("坏了",), ())),
        ("顯卡", (("显卡",),)),
        (r"(?:don.t|cannot) (?:see|find)", (("cannot", "don"),)),
    ],
)
def test_words_of_alternatives_are_of_any_script(
    pattern: str, words: tuple[tuple[str, ...], ...]
) -> None:
    assert needed_by_alternatives(pattern) == words


def test_what_several_rows_have_is_parsed_once() -> None:
    """A third of all patterns are in more than one place, and the parser is written in Python."""
    pattern = "seldom (?:seen|heard|read) in (?:logs|reports|threads)"
    first = calls_of(lambda: needed_words(pattern))
    assert calls_of(lambda: needed_words(pattern)) < first / 10
