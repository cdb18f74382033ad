"""What each user of the five founding reports is told: by the log alone, and beside facts.

``pytest tests/golden --update-golden`` writes the texts again; they are read as a diff. A case is a
folder with ``log.txt`` and ``facts.yaml``; facts that it does not name are absent.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import yaml

from fadoctor.judging.diagnose import Judged
from fadoctor.judging.engine.cases import case_environment, read_case
from fadoctor.judging.engine.judge import judge
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Target
from fadoctor.report import explanation_text
from fadoctor.report.style import Style
from fadoctor.sources.targets.derived import derive

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.explanation import Explanation

HERE = Path(__file__).parent
CASES = {
    "llamafactory-bf16": "dtype-fp32-into-fa2",
    "unsloth-dora": "dora-fp32-promotion",
    "qwen-v100": "triton-launcher-gcc-fail",
    "x-transformers-bf16": "sdpa-mixed-qkv-dtype",
    "deepscaler": "fa2-init-dtype-warning",
    "deepscaler-crash": "vllm-fa-illegal-memory",
}
"""Case -> its root cause."""

KNOWLEDGE = load_knowledge()


def facts_of(name: str) -> Environment:
    facts = yaml.safe_load((HERE / name / "facts.yaml").read_text(encoding="utf-8"))
    case = read_case({"name": name, "facts": facts, "expect": {"outcome": "pass"}})
    target = Target("environment", "/home/me/venv", "--python")
    return msgspec.structs.replace(case_environment(case), target=target)


def explained(name: str, environment: Environment | None) -> Explanation:
    log = (HERE / name / "log.txt").read_bytes()
    judged = Judged(environment, KNOWLEDGE) if environment else None
    report = explain(read_log(io.BytesIO(log), "log.txt", KNOWLEDGE), KNOWLEDGE, judged)
    return msgspec.structs.replace(
        report, fadoctor="0", rules=msgspec.structs.replace(report.rules, version="0")
    )


def told(name: str) -> str:
    """Return everything that is said about a case."""
    style = Style(width=100, verbose=True)
    alone, beside = explained(name, None), explained(name, facts_of(name))
    matrix = Matrix(KNOWLEDGE.tables)
    found = judge(derive(facts_of(name), matrix), KNOWLEDGE, matrix).findings
    check = [f"{each.severity.value}: {each.message} ({each.rule_id})" for each in found]
    return "\n".join([
        "# explain, the log alone", "", explanation_text.render(alone, style),
        "# explain, beside the environment", "", explanation_text.render(beside, style),
        "# what check finds in this environment", "", *check, "",
    ])  # fmt: skip


def test_each_folder_is_a_case() -> None:
    assert {path.parent.name for path in HERE.glob("*/log.txt")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_cause_stands_first_with_and_without_the_environment(name: str) -> None:
    for environment in (None, facts_of(name)):
        assert explained(name, environment).findings[0].rule_id == CASES[name]


@pytest.mark.parametrize("name", CASES)
def test_what_is_told(name: str, *, update: bool) -> None:
    path, text = HERE / name / "out.txt", told(name)
    if update:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "write it again with --update-golden"
