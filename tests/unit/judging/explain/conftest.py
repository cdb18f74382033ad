"""The pipeline over the shipped rules, and the logs that it is tried on."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.symptoms import Matcher
from fadoctor.judging.explain.explain import Reading, read_log
from fadoctor.knowledge.matrix.load import load_knowledge
from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.rule import Knowledge

HERE = Path(__file__).parent
CAUSES: dict[str, str] = read_plain(HERE / "causes.yaml")
SILENT: dict[str, list[str]] = read_plain(HERE / "silent.yaml")


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.fixture(scope="session")
def matcher(knowledge: Knowledge) -> Matcher:
    return Matcher(knowledge)


@pytest.fixture
def read(knowledge: Knowledge) -> Callable[[str | bytes], Reading]:
    def read_it(log: str | bytes) -> Reading:
        data = log.encode() if isinstance(log, str) else log
        return read_log(io.BytesIO(data), "a.log", knowledge)

    return read_it


def found(reading: Reading) -> list[tuple[str, str]]:
    """Return rule and severity of each cause, the most likely first."""
    return [(cause.rule.id, cause.severity.value) for cause in reading.ranked.causes]


def is_right(rule_id: str, causes: list[tuple[str, str]]) -> bool:
    """Return whether causes begin with a rule; `~` before it asks for a notice and no error."""
    if rule_id.startswith("~"):
        ids = [each for each, _ in causes]
        return rule_id[1:] in ids and "error" not in [severity for _, severity in causes]
    loud = [each for each, severity in causes if severity != "note"]
    return loud[:1] == [rule_id]


def noise(lines: int) -> str:
    """Return lines of a healthy training."""
    return "".join(
        f"2026-11-21 10:00:{number % 60:02} INFO step {number} loss {number % 7}.{number % 100:02} "
        f"grad_norm 0.{number % 10} tokens per second {4000 + number % 50}\n"
        for number in range(lines)
    )
