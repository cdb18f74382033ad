"""What is packed is bounded when it is unpacked: newer rules come from outside."""

from __future__ import annotations

import zlib

import msgspec
import pytest

from fadoctor.knowledge.matrix.load import as_compiled
from fadoctor.model import packed
from fadoctor.model.needed import has_needed
from fadoctor.model.packed import pack, unpack
from fadoctor.model.rule import needs_of
from fadoctor.syntax.held_words import HeldWords
from tests.unit.judging.engine.builders import rule


def test_what_was_packed_comes_back() -> None:
    value = {"torch": ["2.13.0", "\u663e\u5361"], "none": []}
    assert unpack(pack(value), dict[str, list[str]]) == value


@pytest.mark.parametrize(
    "data",
    [b"", b"no zlib", pack("flash-attn")[:-3], zlib.compress(b"[1]"), zlib.compress(b"{")],
    ids=["empty", "other", "cut", "type", "json"],
)
def test_what_is_damaged_is_told(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        unpack(data, str)


def test_little_is_not_made_of_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a few bytes of newer rules could fill the memory."""
    monkeypatch.setattr(packed, "LIMIT", 1_000)
    assert len(unpack(pack("x" * 900), str)) == 900
    with pytest.raises(msgspec.DecodeError, match="too large"):
        unpack(pack("x" * 1_001), str)


def test_a_compiled_rule_shows_its_anchors_and_unpacks_no_symptom() -> None:
    needs = (("flash", "sdpa"), ("torch",))
    written = rule(symptoms=[{"anchor": "is gone", "needs": needs}, {"anchor": "is lost"}])
    compiled = as_compiled(written)
    assert not compiled.worded
    assert [anchor for anchor, _ in needs_of(compiled)] == ["is gone", "is lost"]
    assert needs_of(compiled) == needs_of(written)
    assert "symptoms" not in vars(compiled)
    assert compiled.symptoms == written.symptoms == written.worded


def test_a_symptom_needs_one_word_of_each_choice() -> None:
    (_, needs), (_, none) = needs_of(
        rule(symptoms=[{"anchor": "a", "needs": (("flash", "sdpa"), ("torch",))}, {"anchor": "b"}])
    )
    assert has_needed(HeldWords("torch has sdpa"), needs)
    assert not has_needed(HeldWords("torch has none"), needs)
    assert not has_needed(HeldWords("flash"), needs)
    assert has_needed(HeldWords(""), none)
