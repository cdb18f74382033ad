"""What stands around a message: the field, a namesake, a status, or a wish that quotes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

_TOLD, _FIELD, _NAMESAKE, _OUTSIDE = "told-words", "stack", "namesake", "container-engine"
"""The table of words that people use; those of the field in it, messages of namesakes, and those of
engines that start no container."""
_WISH = "wish-form"
"""Titles and headings of forms in which people ask for something new."""
_READ = 200_000
"""Characters of an issue that are looked at for words; GitHub allows fewer."""
_EXAMPLE_FOLLOWS = re.compile(
    r"(?:\b(?:such as|for example|for instance|e\.g\.?|as in)|例如|比如|譬如|例えば)\W{0,4}$",
    re.IGNORECASE,
)
_RAISED = re.compile(
    r"\b[A-Za-z_.]{0,60}(?:Error|Exception|Warning)\b|\b(?:error|fatal|failed|warning)\s?:"
    r"|\.\.\. error\b|cannot import name|undefined symbol|no module named",
    re.IGNORECASE,
)
"""What only a program writes around a message. A person tells of the same in words of their own."""
_EXCEPTION = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception|Warning)\b")
_VALUE = re.compile(r"[\"']\w{1,40}[\"']\s?:\s?[\"']")
"""A key and the start of its value, as a mapping is printed."""
_LINE = re.compile(r":(\d{1,6})$")
"""Where a text's line is said: `the text:7`."""


def speaks_of_the_field(text: str) -> bool:
    """Return whether a text names torch, CUDA, or a program that computes attention."""
    return _has_words_of(_FIELD, text)


def is_a_wish(text: str) -> bool:
    """Return whether a text has the title or the headings of a form for wishes."""
    return _has_words_of(_WISH, text)


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


def is_raised(finding: Finding) -> bool:
    """Return whether a program says what was found, rather than a person in words of their own."""
    return any(_RAISED.search(str(each.value)) for each in finding.evidence)


def is_of_an_engine(finding: Finding) -> bool:
    """Return whether a container did not start: then no report of what is in it can be made."""
    return any(_has_words_of(_OUTSIDE, str(each.value)) for each in finding.evidence)


def is_a_status(finding: Finding) -> bool:
    """Return whether a program only lists what was found, as a value among others of its state."""
    said = " ".join(str(each.value) for each in finding.evidence)
    return bool(_VALUE.search(said)) and not _EXCEPTION.search(said)


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
