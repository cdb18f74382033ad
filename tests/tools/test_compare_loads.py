"""Released wheels: predictions against the real loader. A small selection; the script has more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.gcc
def test_predictions_for_released_wheels_are_right(tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "tools" / "compare_loads.py"), "--cache", str(tmp_path)]
    argv += ["--wheel", "xformers==0.0.35", "--wheel", "bitsandbytes==0.50.2", "--no-torch"]
    argv += ["--wheel", "torchvision==0.23.0"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    # One library of xformers, 16 of bitsandbytes and 9 of torchvision, in both modes, with and
    # without torch, which is compared too
    assert "106 loads, 0 differ" in done.stderr
