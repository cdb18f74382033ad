"""`uvx --from WHEEL fadoctor check` in an empty home: nothing is installed, and it answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.environments import add_torch, make_environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.network
def test_the_built_wheel_answers_from_an_empty_home(tmp_path: Path) -> None:
    built = tmp_path / "dist"
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built))
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True, timeout=300)
    wheel = next(built.glob("*.whl"))
    add_torch(make_environment(tmp_path / "env"), "2.8.0", "12.8")
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    kept = {name: text for name, text in os.environ.items() if name[:4] not in ("XDG_", "UV_C")}
    env = {**kept, "HOME": str(home), "VIRTUAL_ENV": str(tmp_path / "env")}
    run = subprocess.run(
        [sys.executable, "-m", "uv", "tool", "run", "--from", str(wheel), "fadoctor",
         "check", "--no-smoke", "--gpu", "A100", "--format", "json"],
        env=env, cwd=home / "work", capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    # The active environment was examined, not the one that uv made for fadoctor.
    assert report["target"]["roots"]["prefix"] == str(tmp_path / "env")
    assert report["rules"].keys() == {"version", "sha256"}
    assert list((home / "work").iterdir()) == []
