"""Released kernels packages choose among made-up builds; a selection of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.network
@pytest.mark.slow
def test_released_kernels_take_what_is_expected(tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "tools" / "compare_choice.py"), "--cache", str(tmp_path)]
    for release in ("0.8.0", "0.12.3", "0.14.1", "0.17.2"):
        argv += ["--release", release]
    done = subprocess.run(
        [*argv, "--sets", "150"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "4 releases, 600 choices, 0 differ"
