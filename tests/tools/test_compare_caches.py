"""Released kernels packages fill caches from a Hub on the loopback; a selection of them."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tools.fake_hub import FakeHub, commit_of, kernel

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("0.10.5", "0.13.0", "0.14.1", "0.17.2")


@pytest.mark.network
@pytest.mark.weekly
@pytest.mark.slow
def test_caches_of_released_kernels_are_read_as_they_are(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tools.compare_caches", "--cache", str(tmp_path)]
    for release in RELEASES:
        argv += ["--release", release]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "4 releases, 14 caches, 0 differences"


def test_the_hub_on_the_loopback_answers() -> None:
    files = kernel({"torch-cuda": ("9.0",)})
    with FakeHub() as hub:
        hub.put("ada/tiny", {"v1": files}, kinds=("kernels",))

        def asked(path: str) -> str:
            with urllib.request.urlopen(hub.origin + path) as answer:  # noqa: S310 -- our own
                return str(answer.read().decode())

        assert commit_of("v1", files) in asked("/api/kernels/ada/tiny/refs")
        assert '"build/torch-cuda"' in asked("/api/kernels/ada/tiny/tree/v1/build")
        assert "answer" in asked("/kernels/ada/tiny/resolve/v1/build/torch-cuda/__init__.py")
        with pytest.raises(OSError, match="404"):
            asked("/api/models/ada/tiny/refs")
