"""SARIF: one run, a rule for each cause, and every result at a place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.report.ci.sarif import address_of, render
from tests.unit.report.ci.hostile import ALL, EMPTY, FULL, NASTY

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.report.ci.listing import Listing


def run_of(listing: Listing) -> Any:
    (run,) = json.loads(render(listing))["runs"]
    return run


def test_each_result_names_its_rule_by_index() -> None:
    run = run_of(FULL)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["torch-too-old", "triton-odd", "merely-noted"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]


def test_the_first_place_is_the_location_and_others_are_related() -> None:
    first = run_of(FULL)["results"][0]
    (location,) = first["locations"]
    where = location["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "a%20b/req.txt"
    assert where["region"] == {"startLine": 3, "startColumn": 5}
    (other,) = first["relatedLocations"]
    assert other["physicalLocation"]["artifactLocation"]["uri"] == "uv.lock"


def test_files_below_the_folder_of_the_run_are_named_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert address_of(str(tmp_path / "a" / "r.txt")) == "a/r.txt"
    assert address_of("/elsewhere/r.txt") == "file:///elsewhere/r.txt"


def test_what_stayed_open_is_a_notification_and_a_broken_rule_is_no_success() -> None:
    assert run_of(EMPTY)["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": []}
    ]
    (invocation,) = run_of(FULL)["invocations"]
    assert not invocation["executionSuccessful"]
    levels = [each["level"] for each in invocation["toolExecutionNotifications"]]
    assert levels == ["error", "note", "note"]


def test_the_same_problem_keeps_its_fingerprint() -> None:
    prints = [result["partialFingerprints"] for result in run_of(FULL)["results"]]
    assert prints == [result["partialFingerprints"] for result in run_of(FULL)["results"]]
    assert len({json.dumps(each) for each in prints}) == len(prints)


@pytest.mark.parametrize("name", ALL)
def test_nothing_from_outside_is_a_control(name: str) -> None:
    text = render(ALL[name])
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\\u001b" not in text
    assert json.loads(text)["version"] == "2.1.0"


def test_a_hostile_file_name_is_one_address() -> None:
    address = run_of(NASTY)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert address["uri"].isascii()
    assert not set(address["uri"]) & set("<>\"' \n|`")
