"""The gate of a refresh: new alarms stop it, and its description says what is new, for whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tools.canaries.cli import environments
from tools.refresh import gate

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = environments()[0]["name"]
NOTHING: Mapping[str, list[str]] = {"findings": [], "cells": ["fa2 bf16: works"]}
LOG = (
    "agrees: a: b\nchange: vllm-releases: vllm 9.0.0: a row of its own\n"
    "FOR A PERSON: x: dora_guard: read by a person\nCONTRADICTION: y is `1` in the table\n"
    "1 x change; 3 requests, 9 KiB, 2 s\n"
)


def run(folder: Path, after: Mapping[str, list[str]], log: str = LOG) -> tuple[int, str, str]:
    files = {"before": json.dumps({NAME: NOTHING}), "after": json.dumps({NAME: after}), "log": log}
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    options = [word for name in files for word in (f"--{name}", str(folder / name))]
    body, outputs = folder / "body", folder / "outputs"
    code = gate.main([*options, "--body", str(body), "--outputs", str(outputs)])
    return code, body.read_text("utf-8"), outputs.read_text("utf-8")


@pytest.fixture(autouse=True)
def no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile nothing: the size has a test of its own."""
    monkeypatch.setattr(gate, "weight", list)


def test_the_description_says_what_is_new_and_what_a_person_must_read(tmp_path: Path) -> None:
    code, body, outputs = run(tmp_path, NOTHING)
    assert (code, outputs) == (0, "changed=true\n")
    assert "- vllm-releases: vllm 9.0.0: a row of its own" in body
    assert "None of the locked environments gets another answer." in body
    assert "dora_guard" in body
    assert "`" not in body.partition("## ")[2]
    assert body.rstrip().endswith("3 requests, 9 KiB, 2 s")


def test_a_changed_answer_is_listed_with_whom_it_concerns(tmp_path: Path) -> None:
    code, body, _ = run(tmp_path, {"findings": [], "cells": ["fa2 bf16: fails"]})
    kind, gpu = environments()[0]["kind"], environments()[0]["gpu"]
    assert code == 0
    assert f"{NAME}: now fa2 bf16: fails ({kind} on {gpu})" in body


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 1), ("note", 0)])
def test_a_new_alarm_stops_the_refresh(tmp_path: Path, severity: str, code: int) -> None:
    found, body, outputs = run(tmp_path, {**NOTHING, "findings": [f"{severity} a-rule (x)"]})
    assert found == code
    assert ("Stops this refresh" in body) is bool(code)
    assert outputs == f"changed={'false' if code else 'true'}\n"


def test_nothing_new_opens_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, NOTHING, "agrees: a: b\n")[2] == "changed=false\n"


def test_the_workflow_pins_by_commit_and_asks_for_little() -> None:
    text = (Path(__file__).parents[2] / ".github/workflows/refresh.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert workflow["jobs"]["refresh"]["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            name, _, commit = step.get("uses", "a@" + "0" * 40).partition("@")
            assert len(commit.split()[0]) == 40, name
