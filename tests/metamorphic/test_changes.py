"""A log keeps its cause when it is told otherwise: the share of causes kept, with a floor each.

The logs are all that the rules' own cases and the tests of `explain` hold.
"""

from __future__ import annotations

import io
import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.engine.suite import cases_of, is_log, load_suite, outcome_of
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.finding import Finding, Outcome, Severity
from tests.metamorphic.changes import CHANGES
from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

CAUSES = Path(__file__).parents[1] / "unit" / "judging" / "explain" / "causes.yaml"
SEED = 20261126
EVERY = 4
"""Of the logs of cases each fourth one is changed, so that the test takes about a minute."""

FEWEST = 100
"""Least number of logs that are changed: fewer would say little."""

LANDING = 8
"""Of these logs each eighth one is changed in each landing, all of them once a week."""

SLACK_OF_LANDING = 0.05
"""By how much the share of a part may lie below that of all: words are dropped by chance."""

A_FEW = 30
"""Of these logs each thirtieth one is changed where nobody asked for all."""

SLACK = 0.2
"""By how much the share of a few may lie below that of all: one of twelve logs is 0.08."""


class Log(msgspec.Struct, frozen=True):
    """A log, its cause, and where that shows."""

    text: str
    rule: str
    place: int


@cache
def knowledge() -> Knowledge:
    """Return what is known, loaded once."""
    return load_knowledge()


def first(text: str) -> Finding | None:
    known = knowledge()
    findings = explain(read_log(io.BytesIO(text.encode()), "a.log", known), known).findings
    loud = [each for each in findings if each.severity is not Severity.NOTE]
    return next(iter((*loud, *findings)), None)


def texts() -> list[str]:
    found: list[str] = list(read_plain(CAUSES).values())
    of_cases = []
    for file in load_suite().rules().values():
        of_cases += [
            str(raw["log"])
            for raw in cases_of(file)
            if is_log(raw) and outcome_of(raw) is Outcome.FAIL
        ]
    return list(dict.fromkeys((*found, *of_cases[::EVERY])))


@cache
def logs(every: int = 1) -> tuple[Log, ...]:
    """Return the logs of which the cause shows in one line."""
    found = []
    for text in texts()[::every]:
        finding = first(text)
        if finding is None:
            continue
        places = [
            int(each.source.rpartition(":")[2]) for each in finding.evidence if each.fact == "log"
        ]
        if places and text.split("\n")[places[-1] - 1].strip():
            found.append(Log(text, finding.rule_id, places[-1] - 1))
    return tuple(found)


@pytest.mark.parametrize("name", CHANGES)
def test_the_cause_of_a_few_stays(name: str) -> None:
    share, lost = kept(name, logs(A_FEW))
    assert share >= CHANGES[name][1] - SLACK, lost


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(
    "every",
    [pytest.param(LANDING, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.weekly)],
)
def test_the_cause_stays(name: str, every: int) -> None:
    share, lost = kept(name, logs(every))
    assert share >= CHANGES[name][1] - (SLACK_OF_LANDING if every > 1 else 0), lost


def kept(name: str, among: tuple[Log, ...]) -> tuple[float, list[object]]:
    """Return the share of causes that a change keeps, and those that it loses."""
    change, _ = CHANGES[name]
    chance = random.Random(SEED)  # noqa: S311 -- the same changes every time
    tried = 0
    lost: list[object] = []
    for log in among:
        changed = change(log.text, log.place, chance)
        if changed == log.text:
            continue
        tried += 1
        finding = first(changed)
        if finding is None or finding.rule_id != log.rule:
            lost.append((log.rule, finding and finding.rule_id, changed[:200]))
    share = 1 - len(lost) / max(1, tried)
    print(f"{name}: {tried - len(lost)} of {tried}, {share:.3f}")  # noqa: T201 -- for the report
    return share, lost


@pytest.mark.long
def test_there_is_enough_to_change() -> None:
    assert len(logs(LANDING)) >= FEWEST
