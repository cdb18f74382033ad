"""What is printed about a few machines, to the last character; reviewed as a diff.

``pytest tests/golden --update-golden`` writes it again. A new case is a folder named like a
recording in tests/hosts, or one with a ``facts.json`` of its own.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from tests.golden import cases

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.mark.parametrize("name", cases.names())
def test_golden(name: str, knowledge: Knowledge, *, update: bool) -> None:
    if update:
        cases.refresh_facts(name)
    report = cases.report(name, knowledge)
    differences = []
    for file, render in cases.OUTPUTS.items():
        path, found = cases.CASES / name / file, render(report)
        if update:
            path.write_text(found, encoding="utf-8")
        elif (wanted := path.read_text(encoding="utf-8")) != found:
            differences += _differences(f"{name}/{file}", wanted, found)
    assert differences == [], "write it again with --update-golden and review the diff"


@pytest.mark.sampled
@pytest.mark.parametrize("name", cases.names())
def test_the_same_facts_give_the_same_bytes(name: str, knowledge: Knowledge) -> None:
    once, again = (cases.report(name, knowledge) for _ in range(2))
    for render in cases.OUTPUTS.values():
        assert render(once) == render(again)


@pytest.mark.parametrize("name", cases.names())
@pytest.mark.parametrize(
    ("file", "width"), [("out.narrow.txt", 50), ("out.txt", 80), ("out.wide.txt", 160)]
)
def test_lines_keep_to_the_width(name: str, file: str, width: int) -> None:
    lines = _golden(name, file).splitlines()
    assert [line for line in lines if len(line) > width and not _stays_whole(line)] == []


def test_a_healthy_machine_fits_one_screen() -> None:
    """80x24, with the line that was typed and the prompt behind it."""
    assert len(_golden("linux-a100-healthy", "out.txt").splitlines()) <= 22


@pytest.mark.parametrize("name", cases.names())
def test_the_answer_stands_in_the_first_lines(name: str) -> None:
    """Works, fails or unknown; and what to use with the line to paste, or what to type next."""
    text = _golden(name, "out.txt")
    head = "\n".join(text.splitlines()[:5])
    assert head.startswith(("\u2713 ", "\u2717 ", "? "))
    pasted = re.search(r"\n  Use .*\n    \w+ [\w.]+:(?: |\n +)\S+=", head)
    assert pasted or "`fadoctor " in head


@pytest.mark.parametrize("name", cases.names())
def test_in_short_it_is_one_line(name: str) -> None:
    [line] = _golden(name, "out.line.txt").splitlines()
    words = " ".join(_golden(name, "out.txt").split())
    assert words.startswith(line.partition(":")[0].partition(". ")[0])


@pytest.mark.parametrize("name", cases.names())
def test_a_plain_terminal_loses_no_character(name: str) -> None:
    assert _golden(name, "out.ascii.txt").isascii()
    assert {char for char in _golden(name, "out.txt") if not char.isascii()} <= {"\u2717", "\u2713"}


@pytest.mark.parametrize("name", cases.names())
def test_no_placeholder_is_left(name: str) -> None:
    """A name in a template that was not filled in shows as ``{built.band}``."""
    shown = _golden(name, "out.wide.txt") + _golden(name, "fix.txt")
    assert re.findall(r"\{[a-z][\w.]*\}", shown) == []


def _golden(name: str, file: str) -> str:
    return (cases.CASES / name / file).read_text(encoding="utf-8")


def _differences(name: str, wanted: str, found: str) -> list[str]:
    lines = difflib.unified_diff(wanted.splitlines(), found.splitlines(), name, "found", "", "", 1)
    return [line for line, _ in zip(lines, range(60), strict=False)]


def _stays_whole(line: str) -> bool:
    """Return whether a line is one to paste, or a single word such as a path."""
    words = line.split()
    return words[0] == "-" or "=" in line or len(words) == 1
