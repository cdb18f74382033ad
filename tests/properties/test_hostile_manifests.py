"""Hostile manifests are read or refused with bounded work in 300 MB."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.weekly
def test_hostile_manifests_cost_little(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tests.properties.hostile_manifests", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    costly = [each for each in found["costs"] if each["calls"] > 40_000_000]
    assert costly == []
    assert found["peak_mb"] < 300
    said = {each["name"]: each["said"] for each in found["costs"]}
    assert said["20,000 packages"].endswith("more than 3,000 packages: 20,000")
    assert said["NUL"] == "/uv.lock:2: has a NUL byte: it is not text"
    assert said["a chain"] == "read"
