"""The pages keep to the words of docs/terminal.md, to short sentences, and to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.test_texts import AVOIDED
from tests.shipped import compiled

ROOT = Path(__file__).resolve().parents[2]
_GENERATED = ("tables-checked.md", "cli.md", "matrix.md")
_QUOTING = ("comparison.md",)
"""Pages that quote what others say."""

PAGES = sorted(
    page
    for page in (
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/for").glob("*.md"),
    )
    if page.name not in (*_GENERATED, *_QUOTING)
)
_SENTENCE_WORDS = 45
_FENCE = re.compile(r"```.*?```", re.DOTALL)
_GLOSSARY = re.compile(r"^\| word \|.*?\n\n", re.MULTILINE | re.DOTALL)
_FINDING = re.compile(r"^ +(?:✗ error|! warning|i note): (.+)$", re.MULTILINE)
_SUBJECT = re.compile(r" \([^()]*(?:\([^()]*\))?[^()]*\)$")
_PLACE = re.compile(r"`((?:fadoctor|tools|bench|tests|rules|docs)/[\w./-]+)`")
_NAMED = re.compile(
    r"`(_?[A-Za-z]\w+)` (?:of|in) `((?:fadoctor|tools|bench|tests|docs)/[\w./]+\.py)`"
)
_EXAMPLES = ("tests/unit/sources/probes/test_numa.py", "rules/matrix/toyattn-releases.yaml")
"""Files that a page tells its reader to write."""

_NO_RULE = ("The check could not be done",)
"""Titles that are no rule's: of a node whose check failed."""


_ADDRESS = re.compile(r"\]\([^)\s]*\)")


def prose(text: str) -> str:
    """Return a page without code, commands, addresses of links and the table of words."""
    lines = _GLOSSARY.sub("", _FENCE.sub("", text)).splitlines()
    told = "\n".join("" if line[:4] == "    " else line for line in lines)
    return re.sub(r"`[^`\n]*`", "X", _ADDRESS.sub("]", told))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_things_by_their_names(page: Path) -> None:
    text = prose(page.read_text(encoding="utf-8"))
    found = {
        meant: match[0]
        for meant, pattern in AVOIDED.items()
        if meant not in ("two blanks", "a blank at an end")
        for match in [re.search(pattern, text)]
        if match
    }
    assert found == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_sentence_can_be_said_in_one_breath(page: Path) -> None:
    rows = "\n".join(
        "" if line.startswith("|") else line
        for line in prose(page.read_text(encoding="utf-8")).splitlines()
    )
    for paragraph in re.split(r"\n\s*\n|\n(?=[*-] |\d\. )", rows):
        for sentence in re.split(r"(?<=[.?!:;])\s+", " ".join(paragraph.split())):
            words = re.findall(r"[\w'/.-]+", re.sub(r"\([^)]*\)", "", sentence))
            assert len(words) <= _SENTENCE_WORDS, sentence


def test_an_example_has_titles_that_rules_have() -> None:
    """Two pages showed findings of rules whose titles had long been others."""
    titles = {*(rule.title for rule in compiled().knowledge.rules), *_NO_RULE}
    shown = [each for page in PAGES for each in _FINDING.findall(page.read_text(encoding="utf-8"))]
    assert len(shown) > 5
    assert [each for each in shown if not {each, _SUBJECT.sub("", each)} & titles] == []


def test_files_and_names_in_them_are_there() -> None:
    wrong = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        wrong += [p for p in _PLACE.findall(text) if p not in _EXAMPLES and not (ROOT / p).exists()]
        for name, file in _NAMED.findall(text):
            if not re.search(rf"\b{name}\b", (ROOT / file).read_text(encoding="utf-8")):
                wrong.append(f"{name} of {file}")
    assert wrong == []
