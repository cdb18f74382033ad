"""Whole logs: each kind of report is recognised in every dress, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.test_symptoms import CATEGORIES, WORDINGS
from tests.unit.judging.explain.conftest import CAUSES, SILENT, found, is_right, noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.explain.explain import Reading

Read = "Callable[[str | bytes], Reading]"

STYLES = {
    "ray": "(WorkerDict pid=4711) {}",
    "rank": "[rank3]: {}",
    "torchrun": "[default2]:[rank2]: {}",
    "vllm": "ERROR 05-02 08:00:01 async_llm_engine.py:61] {}",
    "vllm v1": "(EngineCore_DP0 pid=73) ERROR 05-02 08:00:01 [core.py:866] {}",
    "journald": "May 02 08:00:01 node7 trainer[394]: {}",
    "iso": "2026-05-02T08:00:01.123456789Z {}",
    "logger": "2026-05-02 08:00:01,123 - app.pipeline - ERROR - {}",
    "loguru": "2026-05-02 08:00:01.123 | ERROR    | app.run:main:12 - {}",
    "quote": "> {}",
    "uv": "      {}",
    "rich": "│ {} │",
    "docker build": "#14 12.345 {}",
    "compose": "web-1  | {}",
    "colours": "\x1b[31m\x1b[1m{}\x1b[0m",
    "copied colours": "[36m{}[0m",
    "actions": "2026-05-02T08:00:01.1234567Z ##[error]{}",
    "supervisor": "2026-05-02 08:00:01,123 [ERROR] {}",
}
ALL = [(rule_id, log) for rule_id, log in CAUSES.items()]
SAMPLED = pytest.mark.parametrize(
    "step", [7, pytest.param(3, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.weekly)]
)
"""Long logs take long: every seventh one, every third in a landing, all once a week."""

MISSES = [(kind, log) for kind, logs in SILENT.items() for log in logs]


def dressed(log: str, style: str) -> str:
    return "\n".join(STYLES[style].format(line) for line in log.splitlines())


def test_there_is_a_log_for_every_kind_of_report() -> None:
    assert {rule_id.lstrip("~") for rule_id in CAUSES} == set(CATEGORIES.split())


@pytest.mark.parametrize(("rule_id", "log"), ALL, ids=CAUSES)
def test_the_cause_stands_first(read: Callable[[str], Reading], rule_id: str, log: str) -> None:
    assert is_right(rule_id, found(read(log)))


@pytest.mark.long
@pytest.mark.parametrize("style", STYLES)
def test_whoever_writes_a_prefix_before_each_line(
    read: Callable[[str], Reading], style: str
) -> None:
    wrong = [
        rule_id for rule_id, log in ALL if not is_right(rule_id, found(read(dressed(log, style))))
    ]
    assert wrong == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-le"])
def test_other_encodings(read: Callable[[bytes], Reading], encoding: str) -> None:
    logs = [(rule_id, f"PS C:\\> python train.py\r\n{log}") for rule_id, log in ALL]
    wrong = [r for r, log in logs if not is_right(r, found(read(log.encode(encoding))))]
    assert wrong == []


@SAMPLED
def test_deep_in_a_long_log(read: Callable[[str], Reading], step: int) -> None:
    around = noise(4_000)
    wrong = [
        r for r, log in ALL[::step] if not is_right(r, found(read(f"{around}{log}\n{around}")))
    ]
    assert wrong == []


@SAMPLED
def test_each_wording_as_an_exception_in_a_long_log(
    read: Callable[[str], Reading], step: int
) -> None:
    around = noise(2_600)
    wrong = [
        rule_id
        for rule_id, text in WORDINGS[::step]
        if [each for each, _ in found(read(f"{around}RuntimeError: {text}\n{around}"))][:1]
        != [rule_id]
    ]
    assert wrong == []


def test_there_are_enough_near_misses() -> None:
    assert len(MISSES) >= 60


@pytest.mark.parametrize(("kind", "log"), MISSES)
def test_nothing_is_said_about_what_only_mentions_it(
    read: Callable[[str], Reading], kind: str, log: str
) -> None:
    assert [each for each in found(read(log)) if each[1] != "note"] == []


def test_near_misses_beside_each_other_stay_silent(read: Callable[[str], Reading]) -> None:
    for kind, logs in SILENT.items():
        together = noise(100).join(logs)
        loud = [each for each in found(read(together)) if each[1] != "note"]
        assert loud == [], kind
