"""Words end where the script changes: every reader of texts from outside agrees on that."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import fadoctor.judging.explain
import fadoctor.sources.pasted
from fadoctor.judging.engine.symptoms import Matcher
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.syntax.patterns import LatePattern, alternatives, compiled


def modules() -> list[str]:
    return [
        f"{room.__name__}.{each.name}"
        for room in (fadoctor.judging.explain, fadoctor.sources.pasted)
        for each in pkgutil.iter_modules(room.__path__)
    ]


@pytest.mark.parametrize("text", ["启用DoRA时报错", "DoRAを使う", "DoRA로 학습", "启用 DoRA 时"])
def test_a_name_ends_where_the_script_changes(text: str) -> None:
    assert compiled(r"\bDoRA\b").search(text)
    assert compiled(r"(?<!\w)dora(?!\w)", re.IGNORECASE).search(text)


def test_a_letter_of_the_same_script_goes_on() -> None:
    assert not compiled(r"\bDoRA\b").search("DoRAs")
    assert not compiled(r"\d").search("\uff11")


def patterns_in(value: object) -> list[re.Pattern[str]]:
    """Return the patterns of texts that a module's constant holds."""
    if isinstance(value, LatePattern):
        return [re.compile(value.pattern, value.flags)]
    if isinstance(value, re.Pattern):
        return [value] if isinstance(value.pattern, str) else []
    if isinstance(value, dict):
        return [each for one in value.values() for each in patterns_in(one)]
    if isinstance(value, (tuple, list)):
        return [each for one in value for each in patterns_in(one)]
    return []


@pytest.mark.parametrize("name", modules())
def test_every_pattern_of_the_readers_is_of_ascii(name: str) -> None:
    constants = vars(importlib.import_module(name)).values()
    for pattern in (each for value in constants for each in patterns_in(value)):
        assert pattern.flags & re.ASCII, pattern.pattern


def test_symptoms_see_names_beside_other_scripts() -> None:
    matcher = Matcher(load_knowledge())
    text = "启用DoRA时报错 RuntimeError: FlashAttention only support fp16 and bf16 data type"
    spaced = text.replace("DoRA", " DoRA ")
    found = [match.rule_id for match in matcher.match(text)]
    assert found
    assert found == [match.rule_id for match in matcher.match(spaced)]


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("a|b(?:c|d)|e", ("a", "b(?:c|d)", "e")),
        (r"a\|b|[|]|[]|]c|[^]|]|[\]|]d", (r"a\|b", "[|]", "[]|]c", "[^]|]", r"[\]|]d")),
        (r"(?P<one>a)\1|b", (r"(?P<one>a)\1|b",)),
        ("a|", ("a", "")),
        ("", ("",)),
    ],
)
def test_alternatives_of_a_pattern(pattern: str, parts: tuple[str, ...]) -> None:
    assert alternatives(pattern) == parts
