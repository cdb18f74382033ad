"""What projects publish finds no error on an A100 with an environment that fits."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.sources.configs.join import apply_configurations
from fadoctor.sources.targets.saved import read_facts
from tests.unit.sources.configs.examples import EXAMPLES
from tests.unit.sources.configs.read import read

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge

A100 = Path(__file__).parents[3] / "golden" / "linux-a100-healthy" / "facts.json"
FITTING = {"llamafactory.version": "0.9.4", "transformers.version": "4.57.1"}


@cache
def surroundings() -> tuple[Environment, Knowledge]:
    environment = read_facts(A100.read_bytes(), "A100")
    facts = {name: Known(version, "a test") for name, version in FITTING.items()}
    fitting = msgspec.structs.replace(environment, facts={**environment.facts, **facts})
    return fitting, load_knowledge()


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_wrong(name: str) -> None:
    environment, knowledge = surroundings()
    configurations = [read(text, file) for file, text in EXAMPLES[name].items()]
    report = diagnose(apply_configurations(environment, configurations), knowledge)
    found = [(each.severity.value, each.rule_id) for each in report.findings]
    assert [each for each in found if each[0] != Severity.NOTE.value] == []
    assert report.rule_errors == ()
    files = {intent.place.file for each in configurations for intent in each.intents}
    assert files <= EXAMPLES[name].keys()
