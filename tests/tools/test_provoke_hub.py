"""Failures on the way to a Hub kernel are provoked, and explain names the cause; some of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.hub_failures import CASES

ROOT = Path(__file__).resolve().parents[2]
SOME = ("D, hidden", "B", "range, 5.23", "import", "arch", "offline, 0.17", "FA4")


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.torch
def test_the_cause_of_a_provoked_failure_is_named(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tools.provoke_hub", "--cache", str(tmp_path)]
    for name in SOME:
        argv += ["--only", name]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_every_case_names_a_rule_that_there_is() -> None:
    rules = {path.stem for path in (ROOT / "rules").glob("*/*.yaml")}
    assert {case.rule for case in CASES.values() if case.rule} <= rules
    assert set(SOME) <= set(CASES)
