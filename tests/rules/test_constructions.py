"""No text that a person sees uses a construction of ``REFUSED``; CONTRIBUTING.md has examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.test_words import PAGES, ROOT, prose
from tests.rules.constructions import IN_RULES, REFUSED, refused, rows
from tests.rules.test_texts import ALL, CELLS, SAID

if TYPE_CHECKING:
    from pathlib import Path

_WORDS = 20
_ALL = REFUSED | IN_RULES


@pytest.mark.parametrize("name", _ALL)
def test_no_rule_table_or_message_uses_it(name: str) -> None:
    pattern = re.compile(_ALL[name])
    texts = [*((place, text) for place, _, text in ALL), *CELLS, *SAID]
    assert [each for each in texts if pattern.search(each[1])] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_uses_it(page: Path) -> None:
    text = " ".join(prose(page.read_text(encoding="utf-8")).split())
    assert refused(text) == []


def test_sentences_of_rules_are_short() -> None:
    sentences = [
        (place, sentence)
        for place, kind, text in ALL
        if kind == "sentence"
        for sentence in re.split(r"(?<=[.:;?])\s+", text)
    ]
    assert [each for each in sentences if len(each[1].split()) > _WORDS] == []


def test_each_construction_has_an_example_of_what_to_write() -> None:
    examples = rows()
    assert examples.keys() == _ALL.keys()
    for name, (bad, good) in examples.items():
        assert name in refused(bad, _ALL), name
        assert refused(good, _ALL) == [], name
        assert len(good.split()) <= _WORDS, name
