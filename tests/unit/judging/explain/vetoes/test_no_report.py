"""A list of changes, a guide and a solved problem quote messages, and report no failure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import SETTLED, explain, read_log
from fadoctor.judging.explain.vetoes.no_report import NoReport, kind_of
from fadoctor.model.finding import Severity
from tests.plain_yaml import read_plain
from tests.unit.judging.explain.conftest import CAUSES, noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.explain.explain import Reading
    from fadoctor.model.rule import Knowledge

TEXTS: dict[str, list[str]] = read_plain(Path(__file__).parents[1].joinpath("no_report.yaml"))
QUIET = [(kind, text) for kind, texts in TEXTS.items() if kind != "reports" for text in texts]
MESSAGES = [text.strip() for text in CAUSES.values() if len(text.strip().splitlines()) == 1]

OWN = [
    line
    for line in (Path(__file__).parents[5] / "CHANGELOG.md")
    .read_text(encoding="utf-8")
    .splitlines()
    if line.startswith("- ")
]
"""What this project's own list of changes says, messages among it."""

EACH = 12
"""Messages in one list of changes."""


def loud(knowledge: Knowledge, text: str) -> list[str]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return [each.rule_id for each in report.findings if each.severity is not Severity.NOTE]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("start", range(0, len(MESSAGES), EACH))
def test_a_changelog_may_name_any_message(knowledge: Knowledge, start: int) -> None:
    named = (*MESSAGES[start : start + EACH], "No more of that.")
    entries = [
        f"## [1.{len(named) - place}.0] - 2026-03-02\n\n### Fixed\n\n- {message} (#{place})"
        for place, message in enumerate(named)
    ]
    assert loud(knowledge, "# Changelog\n\n" + "\n\n".join(entries)) == []


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("start", range(0, len(OWN), 4 * EACH))
def test_our_own_changelog_reports_nothing(knowledge: Knowledge, start: int) -> None:
    listed = "\n".join(OWN[start : start + 4 * EACH])
    assert loud(knowledge, f"# Changelog\n\n## [Unreleased]\n\n### Added\n\n{listed}") == []


@pytest.mark.parametrize(("kind", "text"), QUIET)
def test_what_reports_no_failure_is_a_note_at_most(
    knowledge: Knowledge, kind: str, text: str
) -> None:
    assert loud(knowledge, text) == [], kind


@pytest.mark.parametrize("text", TEXTS["solved"])
def test_what_is_solved_is_a_note_and_said_to_be(knowledge: Knowledge, text: str) -> None:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    assert {each.severity for each in report.findings} <= {Severity.NOTE}
    assert SETTLED in report.notes


@pytest.mark.parametrize("text", TEXTS["reports"])
def test_who_has_a_problem_is_told_its_cause(knowledge: Knowledge, text: str) -> None:
    assert loud(knowledge, text) != []


def test_a_log_that_ends_in_an_error_is_a_report(knowledge: Knowledge) -> None:
    log = f"{noise(30)}AssertionError: Torch not compiled with CUDA enabled"
    assert loud(knowledge, log) == ["torch-cpu-only"]


def test_kinds_are_told_apart(read: Callable[[str], Reading], knowledge: Knowledge) -> None:
    texts = (
        "## v1.1\n- a (#2)\n## v1.0\n- b (#1)",
        "If you see it:\nSolution: wait.",
        "Never mind.",
        "I haven't seen it myself so far.",
    )
    kinds = [kind_of(read(text).lines, knowledge) for text in texts]
    assert kinds == [NoReport.CHANGES, NoReport.GUIDE, NoReport.SETTLED, NoReport.ASKED]
