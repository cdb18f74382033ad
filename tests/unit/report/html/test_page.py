"""The page is one file that loads nothing, and shows what comes from outside as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from fadoctor.model.explanation import Explanation, Log
from fadoctor.model.plan import Action, ActionKind, Change, Plan, PlanOutcome
from fadoctor.model.report import Summary
from fadoctor.model.smoke import SmokeReport, SmokeSummary
from fadoctor.report.html.elements import Html, tag
from fadoctor.report.html.page import render
from tests.unit.report.ci.hostile import HOSTILE, finding
from tests.unit.report.html.pages import PAGES
from tests.unit.report.test_markdown import report

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 150_000
VOID = {"meta", "link"}
LOADING = {"src", "srcset", "data", "action", "poster", "background"}


class Reader(HTMLParser):
    """Reads a page as a browser does: elements are closed in order, nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(name)
        assert not LOADING & {key for key, _ in attrs}
        assert not any(key.startswith("on") for key, _ in attrs)
        if name == "link":
            assert dict(attrs)["href"] == "data:,"
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name


def read(text: str) -> list[str]:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader.seen


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_each_page_is_well_formed_and_small_and_loads_nothing(make: Callable[[], str]) -> None:
    text = make()
    seen = read(text)
    assert seen.count("script") == 1
    assert seen.count("h1") == 1
    assert "url(" not in text
    assert "@import" not in text
    assert len(text.encode()) <= LIMIT


def test_what_comes_from_outside_is_text() -> None:
    text = PAGES["strangers"]()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert all(char.isprintable() or char == "\n" for char in text)


def test_only_markup_that_was_made_here_stays_markup() -> None:
    assert tag("p", "<b>", Html("<i>x</i>"), class_='"quoted"') == (
        '<p class="&quot;quoted&quot;">&lt;b&gt;<i>x</i></p>'
    )


def test_the_answer_and_what_to_use_come_first() -> None:
    text = PAGES["v100"]()
    places = [
        text.index(part)
        for part in ("FlashAttention-2 cannot run on this GPU.", "<h2>Use float16 with", "<article")
    ]
    assert places == sorted(places)
    assert re.search(r'<td class="fails">✗ fails</td>', text)


def test_a_log_without_a_cause_says_so() -> None:
    document = report()
    log = Log("train.log", 3, 1, "whole", {}, on_topic=False)
    silent = Explanation(document.fadoctor, document.rules, log, (), Summary(0, 0, 0, 0))
    assert "No known error about attention" in render(silent)
    near = structs.replace(silent, log=structs.replace(log, on_topic=True))
    assert "Not recognised" in render(near)
    found = structs.replace(silent, findings=(finding("any", text="It <broke>"),))
    assert "It &lt;broke&gt;" in render(found)
    read(render(found))


def test_a_plan_has_its_commands() -> None:
    action = Action(
        ActionKind.INSTALL, "install torch", argv=("pip", "install", "torch==2.8.0"), undo="pip x"
    )
    plan = Plan(
        PlanOutcome.REPAIRS,
        report().target,
        "pip",
        (action,),
        (Change("torch", "2.6.0", "2.8.0"),),
        notes=(HOSTILE,),
    )
    text = render(plan)
    read(text)
    assert "pip install torch==2.8.0</pre>" in text
    assert "torch 2.6.0 -&gt; 2.8.0" in text


def test_cells_of_a_smoke_run() -> None:
    document = report()
    empty = SmokeReport(
        document.fadoctor, document.rules, document.target, "2.8.0", False, (), (),
        SmokeSummary(0, 0, 0, 0),
    )  # fmt: skip
    text = render(empty)
    read(text)
    assert "0 passed, 0 failed, 0 refused, 0 not run; no GPU was tested." in text
