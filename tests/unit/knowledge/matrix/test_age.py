"""What is newer than the tables is said in one line, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.age import newer_than_tables, newest_of
from fadoctor.report.style import Style
from fadoctor.report.text import render
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, shipped

if TYPE_CHECKING:
    from fadoctor.model.rule import Table

KNOWLEDGE = structs.replace(
    shipped(), version="2026.11.21", newest={"torch": "2.15.0", "flash_attn": "2.8.3.post2"}
)


def table(name: str, kind: str, *versions: str) -> Table:
    rows = tuple({"version": version} for version in versions)
    return structs.replace(
        next(iter(shipped().tables.values())), table=name, keys={"version": kind}, rows=rows
    )


@pytest.mark.parametrize(
    ("torch", "flash_attn", "said"),
    [
        ("2.16.0", ABSENT, "torch 2.16.0 is"),
        ("2.16.0+cu130", "2.8.3.post3", "torch 2.16.0+cu130 and flash-attn 2.8.3.post3 are"),
        ("2.16.0.dev20261201", "2.8.3", "torch 2.16.0.dev20261201 is"),
        ("2.15.0+cu130", "2.8.3.post2", ""),
        ("2.15.0a0+nv26.01", UNREAD, ""),
        (UNREAD, ABSENT, ""),
        ("not a version", "2.7.3", ""),
    ],
)
def test_what_is_newer_is_named(torch: object, flash_attn: object, said: str) -> None:
    facts = environment({"torch.version": torch, "flash_attn.version": flash_attn})
    sentence = f"{said} newer than these tables of 2026.11.21" if said else ""
    assert newer_than_tables(facts, KNOWLEDGE) == sentence


def test_tables_of_releases_say_how_far_they_reach() -> None:
    tables = {
        each.table: each
        for each in (
            table("torch-releases", "release", "2.9.1", "2.15.0 2.14.0", "2.10.0"),
            table("xformers-releases", "range", ">=0.1"),
            table("torch-builds", "release", "3.0"),
            table("nobody-releases", "release", "3.0"),
        )
    }
    assert newest_of(tables) == {"torch": "2.15.0"}


def test_the_shipped_tables_know_their_reach() -> None:
    assert {"torch", "triton", "flash_attn", "vllm", "xformers"} <= set(shipped().newest)


def test_the_report_says_it() -> None:
    report = diagnose(environment({"torch.version": "99.0", "gpu.count": 0}), shipped())
    said = f"torch 99.0 is newer than these tables of {shipped().version}"
    assert said in report.notes
    assert said in render(report, Style(width=160))
