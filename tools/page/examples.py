"""What "try it" fills in: for each rule a text that shows it, out of its own cases."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.engine.cases import case_environment, read_case
from fadoctor.model.typed import encode
from tools.page.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

CASES = "fadoctor/compiled/cases.json"


def examples_of(wheel: Path) -> dict[str, str | dict[str, str]]:
    """Return a text for each kind, and for each rule its first log or facts that show it."""
    with zipfile.ZipFile(wheel) as archive:
        cases = json.loads(archive.read(CASES))
    found = {rule: _example(each) for rule, each in sorted(cases.items())}
    return {rule: text for rule, text in found.items() if text} | KINDS


def _example(cases: list[dict[str, Any]]) -> str:
    found = [each for each in cases if each.get("expect", {}).get("outcome") == "fail"]
    logs = [str(each["log"]) for each in found if "log" in each]
    if logs:
        return logs[0]
    return next((_facts(each) for each in found if "facts" in each), "")


def _facts(raw: dict[str, Any]) -> str:
    try:
        environment = case_environment(read_case(raw))
    except msgspec.ValidationError:  # about a recorded host
        return ""
    document = json.loads(encode(environment))
    return json.dumps(document, indent=1)
