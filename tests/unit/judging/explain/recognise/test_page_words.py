"""Words of pages are weighed and packed: what is packed is read back; size alone wins little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.recognise.pages import load_pages

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge
from fadoctor.judging.explain.recognise.page_words import (
    Page,
    packed,
    places,
    terms,
    vectors,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flash_attn_2_cuda on cu128", ["flash", "attn", "cuda", "cu", "128"]),
        ("torch 2.11.0 at 0x7ffee and https://example.org/x", ["torch", "2.11"]),
        ("显卡 too old", ["显", "卡", "too", "old"]),
        ("видит GPU", ["видит", "gpu"]),
        ("of the with", []),
    ],
)
def test_words_are_those_of_identifiers_numbers_and_signs(text: str, words: list[str]) -> None:
    assert terms(text) == words


def test_rare_words_weigh_more() -> None:
    found = vectors({"a": ["rotary kernel"], "b": ["driver kernel"], "c": ["old kernel"]})
    assert found["a"]["rotary"] > found["a"]["kernel"]


def test_a_page_with_many_texts_counts_a_little_more() -> None:
    found = vectors({"many": ["rotary kernel"] * 50, "few": ["rotary kernel"]})
    assert found["few"]["rotary"] < found["many"]["rotary"] < 2 * found["few"]["rotary"]


def test_what_is_packed_is_read_back_in_steps() -> None:
    index = packed(
        [
            (Page("a", "A"), {"kernel": 0.4, "old": 0.1, "odd": 0.005}),
            (Page("b", "B"), {"old": 1.0}),
        ]
    )
    assert dict(places(index.words["kernel"])) == {0: pytest.approx(0.4, rel=0.05)}
    found = dict(places(index.words["old"]))
    assert found == {0: pytest.approx(0.1, rel=0.1), 1: 1.0}
    assert "odd" not in index.words


def test_the_shipped_index_has_all_rules_and_words_of_other_languages(
    knowledge: Knowledge,
) -> None:
    index = load_pages(knowledge).index
    assert [page.rule for page in index.pages] == [rule.id for rule in knowledge.rules]
    assert {"显", "glibc", "128"} <= index.words.keys()
    assert sum(map(len, index.words.values())) < 310 * len(index.pages)
