"""Pairs of transformers and kernels are imported, and check foretells it; some of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAIRS = ("5.12.1/0.14.1", "5.12.1/0.15.2", "5.22.2/0.17.2")


@pytest.mark.network
@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.torch
def test_what_check_says_of_pairs_is_what_their_import_does(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tools.compare_pairs", "--cache", str(tmp_path)]
    for pair in PAIRS:
        argv += ["--pair", pair]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "3 pairs, 0 differ"
