"""What people tell in words of their own: each row has a telling, and others are silent."""

from __future__ import annotations

import ast
import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise import ideas, told_rows, told_words
from fadoctor.model.finding import Severity
from fadoctor.syntax.patterns import compiled
from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

ROOT = Path(__file__).parents[5]
TOLD: dict[str, Any] = read_plain(Path(__file__).parents[1].joinpath("told.yaml"))


def found(knowledge: Knowledge, text: str, *, notes: bool = True) -> list[str]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    shown = [each for each in report.findings if notes or each.severity is not Severity.NOTE]
    return [each.rule_id for each in shown]


def telling(knowledge: Knowledge, name: str) -> str:
    rows = knowledge.tables[told_rows.CAUSES].rows
    return next(str(row["telling"]) for row in rows if row["told"] == name)


PARTS = 8
"""Of all tellings and ideas, so that processes share them."""

EVERY = 1 if "weekly" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "") else 4
"""Of the tellings in which ideas are sought by two patterns each so many-th is read."""


@pytest.mark.long
@pytest.mark.thinned(every=2)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_telling_gets_the_cause_of_its_row(knowledge: Knowledge, part: int) -> None:
    rows = knowledge.tables[told_rows.CAUSES].rows[part::PARTS]
    got = {row["told"]: found(knowledge, str(row["telling"]))[:1] for row in rows}
    assert got == {row["told"]: [row["rule"]] for row in rows}


def test_tellings_in_many_languages_get_their_cause(knowledge: Knowledge) -> None:
    got = [(each["text"], found(knowledge, each["text"])[:1]) for each in TOLD["in_many_languages"]]
    assert got == [(each["text"], [each["rule"]]) for each in TOLD["in_many_languages"]]


@pytest.mark.sampled
@pytest.mark.parametrize("text", TOLD["silent"])
def test_what_is_about_something_else_is_silent(knowledge: Knowledge, text: str) -> None:
    assert found(knowledge, text, notes=False) == []


def test_rows_name_ideas_that_are_there(knowledge: Knowledge) -> None:
    known = {row["name"] for row in knowledge.tables[ideas.WORDS].rows}
    for row in knowledge.tables[told_rows.CAUSES].rows:
        for key in ("says", "beside", "unless"):
            cell = row.get(key) or ""
            named = " ".join(cell) if isinstance(cell, tuple) else str(cell)
            assert set(named.replace("|", " ").replace(">", " ").split()) <= known, row["told"]
            assert key == "says" or ">" not in named, row["told"]


def said_in_code() -> set[str]:
    """Return the words of all texts in modules that ask for ideas, and those of `guide-{name}`."""
    found = set()
    for room in ("fadoctor/judging/explain", "tools/triage"):
        for path in (ROOT / room).rglob("*.py"):
            nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
            texts = [n.value for n in nodes if isinstance(n, ast.Constant)]
            words = {w for text in texts if isinstance(text, str) for w in text.split("|")}
            heads = {word for word in words if word.endswith("-")}
            found |= words | {head + word for head in heads for word in words}
    return found


def test_every_idea_is_asked_for(knowledge: Knowledge) -> None:
    """Some were left when the row that asked for them got other words."""
    rows = knowledge.tables[told_rows.CAUSES].rows
    cells = [ideas.as_words(row.get(key)) for row in rows for key in ("says", "beside", "unless")]
    asked = {name for cell in cells for name in re.split(r"[ |>]+", cell)} | said_in_code()
    names = {str(row["name"]) for row in knowledge.tables[ideas.WORDS].rows}
    # what names a context speaks against rows that say another one of its kind
    kinds = {str(row["name"]) for row in knowledge.tables[ideas.WORDS].rows if row.get("names")}
    assert names - asked - kinds == set()


def test_patterns_of_ideas_are_bounded(knowledge: Knowledge) -> None:
    for row in knowledge.tables[ideas.WORDS].rows:
        assert not compiled(r"(?<!\\)[*+](?![^\[]*\])").search(str(row["pattern"])), row["name"]


@pytest.mark.long
@pytest.mark.thinned(every=4)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_pattern_without_capitals_finds_the_same_in_small_letters(
    knowledge: Knowledge, part: int
) -> None:
    """It is looked for as it is written, which is less work."""
    rows = knowledge.tables[told_rows.CAUSES].rows[part // 2 % EVERY :: EVERY]
    whole = "\n".join(ideas.plain(str(row["telling"])) for row in rows)
    cased = 0
    for row in knowledge.tables[ideas.WORDS].rows[part::PARTS]:
        pattern = ideas.small_idea(str(row["name"]), knowledge)
        other = compiled(pattern.pattern, re.IGNORECASE)
        cased += pattern.flags == other.flags
        assert [m.span() for m in pattern.finditer(whole)] == [
            m.span() for m in other.finditer(whole)
        ], row["name"]
    assert cased < 40


@pytest.mark.parametrize("pattern", ["a[B-D]", r"\x42", "[ -^]", r"[ -\]]", r"(?P<name>B)\Sc"])
def test_a_pattern_with_a_capital_finds_small_letters_too(
    knowledge: Knowledge, pattern: str
) -> None:
    row = {"name": "an-idea", "pattern": pattern}
    table = msgspec.structs.replace(knowledge.tables[ideas.WORDS], rows=(row,))
    known = msgspec.structs.replace(knowledge, tables={ideas.WORDS: table})
    assert ideas.small_idea("an-idea", known).flags & re.IGNORECASE


def test_a_gpu_that_is_named_may_speak_against_a_row(knowledge: Knowledge) -> None:
    text = "GPU: Tesla T4\nunsloth training fails, as on an old Pascal box."
    assert "gpu-below-minimum" not in found(knowledge, text)


def test_a_long_text_is_no_telling(knowledge: Knowledge) -> None:
    text = telling(knowledge, "flash-build-slow") + "\nstep done" * told_words.LINES_LIMIT
    assert found(knowledge, text) == []


def test_lines_of_a_report_are_no_telling(knowledge: Knowledge) -> None:
    report = "OS: Windows 11\nPyTorch version: 2.6.0\nCUDA available: False\n"
    text = f"{report}GPU models and configuration: flash attention fails on a V100"
    reading = read_log(io.BytesIO(text.encode()), "a.txt", knowledge)
    assert {2, 3, 4} <= reading.facts().reported


def test_a_path_of_a_command_says_nothing_of_what_failed(knowledge: Knowledge) -> None:
    told = "50 series GPU: no xformers support, it fails with an RTX 5080.\n"
    ended = "subprocess.CalledProcessError: Command '..\\\\fix_torch.py' returned 1.\n"
    assert found(knowledge, told)
    assert found(knowledge, told + ended) == []


def test_fixes_that_only_texts_need_are_offered_for_what_is_told(knowledge: Knowledge) -> None:
    text = telling(knowledge, "nvidia-asked-amd")
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    offered = [fix.id for fix in report.findings[0].fixes]
    assert offered[:2] == ["index-of-pytorch-and-override", "torch-of-amd-by-gfx"]


@pytest.mark.parametrize(
    "beside", ["triton 3.4.0", r"File C:\v\site-packages\triton\jit.py:3 in f"]
)
def test_what_is_there_is_not_missing(knowledge: Knowledge, beside: str) -> None:
    """Somebody was told to install the triton whose traceback stood in the text."""
    text = "# Triton error on Windows: the system cannot find the file"
    assert "triton-missing" in found(knowledge, text)
    assert "triton-missing" not in found(knowledge, f"{text}\n{beside}")


def test_a_row_may_weigh_less_than_its_rule(knowledge: Knowledge) -> None:
    """Several GPUs that hang have more than one cause."""
    text = telling(knowledge, "gpus-hang-at-the-start")
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    assert report.findings[0].severity is Severity.WARNING
