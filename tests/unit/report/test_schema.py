"""The schemas: what is shipped fits them, and what the compiler refuses does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from fadoctor.report.schema import render

RULES = Path(__file__).parents[3] / "rules"


def validator(name: str) -> Any:
    schema = json.loads(render(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def data(path: Path) -> Any:
    return read_yaml(path.read_text(encoding="utf-8"), str(path)).data


def faults(name: str, document: Any) -> list[str]:
    return [
        f"{fault.json_path}: {fault.message}" for fault in validator(name).iter_errors(document)
    ]


@pytest.mark.parametrize(
    "name", ["report", "smoke", "plan", "explanation", "facts", "rule", "table"]
)
def test_schemas_are_schemas(name: str) -> None:
    assert validator(name).schema["$schema"].endswith("2020-12/schema")


@pytest.mark.long
def test_shipped_files_fit() -> None:
    checks = {name: validator(name) for name in ("rule", "table")}
    for path in sorted(RULES.glob("*/*.yaml")):
        kind = "table" if path.parent.name == "matrix" else "rule"
        found = [fault.message for fault in checks[kind].iter_errors(data(path))]
        assert (path.name, found) == (path.name, [])


@pytest.mark.parametrize("key", ["id", "cases", "message", "references"])
def test_a_rule_needs_its_keys(key: str) -> None:
    rule = data(RULES / "driver" / "driver-too-old.yaml")
    del rule[key]
    assert f"$: '{key}' is a required property" in faults("rule", rule)


def test_a_rule_needs_a_condition_or_symptoms() -> None:
    rule = data(RULES / "driver" / "driver-too-old.yaml")
    rule.pop("when")
    rule.pop("symptoms", None)
    assert len(faults("rule", rule)) == 1


@pytest.mark.parametrize(
    "change", [{"file": "x"}, {"colour": "red"}, {"severity": "fatal"}, {"fixes": [{"id": "x"}]}]
)
def test_what_no_rule_has_is_refused(change: dict[str, Any]) -> None:
    assert faults("rule", data(RULES / "driver" / "driver-too-old.yaml") | change)


def test_what_the_compiler_adds_is_no_part_of_a_table() -> None:
    table = data(RULES / "matrix" / "driver-floors.yaml")
    assert faults("table", table) == []
    assert faults("table", table | {"places": []})


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("symptoms", {"width": 20}),
        ("symptoms", {"needs": [["driver"]]}),
        ("fixes", {"words": {"shown": [["driver"]]}}),
    ],
)
def test_what_the_compiler_works_out_is_not_written(part: str, change: dict[str, Any]) -> None:
    rule = data(RULES / "driver" / "driver-too-old.yaml")
    assert faults("rule", rule) == []
    rule[part][0] |= change
    assert faults("rule", rule)
