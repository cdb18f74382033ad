"""GitLab's report holds to the form that its documentation describes."""

from __future__ import annotations

import json

import jsonschema
import pytest

from fadoctor.report.ci.gitlab import render
from tests.unit.report.ci.hostile import ALL, FULL

TEXT = {"type": "string", "minLength": 1}
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": TEXT,
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("name", ALL)
def test_the_form_is_kept(name: str) -> None:
    text = render(ALL[name])
    jsonschema.validate(json.loads(text), SCHEMA)
    assert all(char.isprintable() or char == "\n" for char in text)


def test_each_place_is_an_entry_with_a_fingerprint_of_its_own() -> None:
    entries = json.loads(render(FULL))
    assert [entry["location"]["path"] for entry in entries[:2]] == ["a b/req.txt", "uv.lock"]
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 4
