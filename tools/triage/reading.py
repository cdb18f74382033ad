"""What stands around a message in an issue: the field, a namesake, or a wish that quotes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

_TOLD, _FIELD, _NAMESAKE = "told-words", "stack", "namesake"
"""The table of words that people use; those of the field in it, and messages of namesakes."""
_READ = 200_000
"""Characters of an issue that are looked at for words; GitHub allows fewer."""
_EXAMPLE_FOLLOWS = re.compile(
    r"(?:\b(?:such as|for example|for instance|e\.g\.?|as in)|例如|比如|譬如|例えば)\W{0,4}$",
    re.IGNORECASE,
)
_LINE = re.compile(r":(\d{1,6})$")
"""Where a text's line is said: `the text:7`."""


def speaks_of_the_field(text: str) -> bool:
    """Return whether a text names torch, CUDA, or a program that computes attention."""
    return _has_words_of(_FIELD, text)


def may_be_a_namesake(finding: Finding, text: str) -> bool:
    """Return whether a module that is missing may be another program's, as far as a text says."""
    messages = [str(each.value) for each in finding.evidence]
    is_shared = any(_has_words_of(_NAMESAKE, each) for each in messages)
    return is_shared and not speaks_of_the_field(text)


def is_an_example(finding: Finding, text: str) -> bool:
    """Return whether a text only quotes what was found: the line before it ends in "such as"."""
    lines = text[:_READ].splitlines()
    places = [_LINE.search(each.source) for each in finding.evidence]
    numbers = [int(place[1]) for place in places if place]
    return bool(numbers) and all(_is_introduced(lines, number) for number in numbers)


def _is_introduced(lines: list[str], number: int) -> bool:
    before = (line.strip() for line in reversed(lines[: number - 1]))
    said = next((line for line in before if line and not line.startswith("```")), "")
    return bool(_EXAMPLE_FOLLOWS.search(said))


def _has_words_of(name: str, text: str) -> bool:
    rows = load_knowledge().tables[_TOLD].rows
    return any(
        re.search(str(row["pattern"]), text[:_READ], re.IGNORECASE)
        for row in rows
        if row["name"] == name
    )
