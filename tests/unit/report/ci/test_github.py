"""Annotations are read back as the runner reads them: one line, one command."""

from __future__ import annotations

import re

import pytest
from msgspec import structs

from fadoctor.model.finding import Severity
from fadoctor.model.fix import Step, StepKind
from fadoctor.report.ci.github import render
from fadoctor.report.ci.listing import Listing
from tests.unit.report.ci.hostile import ALL, EMPTY, FULL, finding, located

LINE = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^,:]*,?)*)::(.*)")


def read(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the commands of a text, as the runner takes them apart."""
    found = []
    for line in text.split("\n")[:-1]:
        match = LINE.fullmatch(line)
        assert match, line
        pairs = (part.partition("=")[::2] for part in match[2].split(","))
        found.append((match[1], {name: undone(value) for name, value in pairs}, undone(match[3])))
    return found


def undone(text: str) -> str:
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_the_worst_stands_first_at_its_line() -> None:
    first, *others = read(render(FULL))
    assert first[0] == "error"
    assert first[1]["file"] == "a b/req.txt"
    assert (first[1]["line"], first[1]["col"]) == ("3", "5")
    assert first[1]["title"] == "fadoctor torch-too-old: It is too old."
    assert first[2].startswith("It is too old. Fix: It is too old.: pip install")
    assert [each[0] for each in others] == ["warning", "notice", "error"]
    assert render(EMPTY) == ""


@pytest.mark.parametrize("name", ALL)
def test_no_text_begins_a_command_of_its_own(name: str) -> None:
    text = render(ALL[name])
    listing = ALL[name]
    assert len(read(text)) == len(listing.located) + len(listing.rule_errors)
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize(("count", "shown"), [(10, 10), (11, 10), (40, 10)])
def test_of_more_than_are_shown_the_last_says_how_many(count: int, shown: int) -> None:
    many = tuple(located(finding(f"rule-{n}", Severity.WARNING)) for n in range(count))
    found = read(render(Listing("check", "0.1.0", "", many)))
    assert len(found) == shown
    if count > shown:
        assert found[-1][2] == f"{count - 9} more warnings"


def test_a_cause_that_is_in_no_file_has_no_place() -> None:
    everywhere = structs.replace(located(finding("torch-too-old")), is_exact=False)
    [(command, said, _)] = read(render(structs.replace(EMPTY, located=(everywhere,))))
    assert (command, list(said)) == ("error", ["title"])


def test_steps_are_told_apart() -> None:
    """They were glued: `Fix: A: pip uninstall x: pip install y`."""
    one = finding("torch-too-old", text="y")
    fix = structs.replace(one.fixes[0], steps=(one.fixes[0].steps * 2))
    two = structs.replace(one, fixes=(fix,))
    [(_, _, message)] = read(render(structs.replace(EMPTY, located=(located(two),))))
    assert (
        message
        == "y. Fix: y: (1) pip install y (2) pip install y. Page: fadoctor rules show torch-too-old"
    )


def test_settings_of_two_frameworks_are_no_steps() -> None:
    """It was "(1) LLaMA-Factory: fp16: true (2) With accelerate, ..."."""
    one = finding("torch-too-old", text="y")
    texts = ("LLaMA-Factory: fp16: true", "transformers: dtype=torch.float16")
    steps = tuple(Step(StepKind.SETTING, text) for text in texts)
    two = structs.replace(one, fixes=(structs.replace(one.fixes[0], steps=steps),))
    [(_, _, message)] = read(render(structs.replace(EMPTY, located=(located(two),))))
    assert f"Fix: y: {texts[0]}; {texts[1]}. Page" in message
