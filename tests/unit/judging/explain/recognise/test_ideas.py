"""Ideas stand where their patterns match; few of the patterns are compiled to tell that."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise import ideas
from fadoctor.judging.explain.recognise.ideas import Ideas, as_words, plain
from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    import pytest

KNOWLEDGE = load_knowledge()
TELLINGS = [
    plain(as_words(row["telling"]))
    for row in KNOWLEDGE.tables["told-causes"].rows
    if row.get("telling")
]
NAMES = [as_words(row["name"]) for row in KNOWLEDGE.tables[ideas.WORDS].rows]


def test_an_idea_stands_where_its_whole_pattern_matches() -> None:
    known = Ideas(KNOWLEDGE)
    texts = random.Random(7).sample(TELLINGS, 60)  # noqa: S311 -- no secret
    for name in NAMES:
        pattern = known.small(name)
        found = [known.stands(name, text) for text in texts]
        assert found == [pattern.search(text) is not None for text in texts], name


def test_what_stands_may_stand() -> None:
    known = Ideas(KNOWLEDGE)
    text = plain("My graphics card is an RTX 5090, and torch finds no GPU.")
    stands = [name for name in NAMES if known.stands(name, text)]
    assert len(stands) > 10
    assert all(known.may_stand(name, text) for name in stands)
    assert sum(known.may_stand(name, text) for name in NAMES) < len(NAMES) / 4


def test_few_patterns_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def small(pattern: str) -> object:
        compiled.append(pattern)
        return real(pattern)

    real = vars(ideas)["_small"]
    monkeypatch.setattr(ideas, "_small", small)
    known, text = Ideas(KNOWLEDGE), plain("torch 2.3.0+cu121\nx-transformers 1.30.1")
    assert 0 < sum(known.stands(name, text) for name in NAMES) < len(NAMES)
    whole = sum(len(as_words(row["pattern"])) for row in KNOWLEDGE.tables[ideas.WORDS].rows)
    assert 0 < sum(map(len, compiled)) < whole / 10


def test_a_table_without_words_that_are_needed_says_the_same() -> None:
    table = msgspec.structs.replace(KNOWLEDGE.tables[ideas.WORDS], needs={})
    known = Ideas(msgspec.structs.replace(KNOWLEDGE, tables={ideas.WORDS: table}))
    assert known.stands("triton", "triton is missing")
    assert not known.stands("triton", "torch is missing")
    assert not known.stands("no such idea", "torch is missing")


def test_what_is_asked_often_is_compiled_once_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    known, text = Ideas(KNOWLEDGE), plain("torch finds no GPU on this machine")
    asked = [known.may_stand("no-gpu", text) for _ in range(ideas.MOST_TEXTS + 1)]
    assert asked == [True] * len(asked)
    monkeypatch.setattr(ideas, "_small", None)
    assert known.stands("no-gpu", text)
    assert not known.may_stand("no-gpu", "torch is here")


def test_a_word_inside_another_word_is_no_idea() -> None:
    known = Ideas(KNOWLEDGE)
    for text in ("was empfehlt ihr für triton", "a black picture", "интернет и кабинет", "sunset"):
        assert not known.small("missing-in-words").search(text), text
        assert not known.stands("missing-in-words", text), text
    for text in ("triton fehlt", "it lacks triton", "triton не найден", "triton is missing"):
        assert known.small("missing-in-words").search(text), text
