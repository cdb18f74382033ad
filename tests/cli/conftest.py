"""Run the command line as a user does: a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.environments import add_flash_attn, add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = shlex.split(os.environ.get("FADOCTOR_TESTS_COMMAND", "")) or [
    sys.executable,
    "-m",
    "fadoctor",
]
"""What is tested: this checkout, or the command of an installed wheel."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run fadoctor in an empty folder; `input` is its standard input, `env` adds to ours."""
    folder = tmp_path / "cwd"
    folder.mkdir()

    def run_it(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        # Wide: sentences stay whole however long the temporary folder's name is.
        env = {**os.environ, "COLUMNS": "500", **options.pop("env", {})}
        options.setdefault("cwd", folder)
        argv = [*COMMAND, *arguments]
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=120, check=False, env=env, **options
        )

    return run_it


@pytest.fixture
def check(run: Run) -> Callable[..., Any]:
    """Return a report of `check --format json --no-smoke` as plain data."""

    def check_it(*arguments: str, **options: Any) -> Any:
        result = run("check", "--format", "json", "--no-smoke", *arguments, **options)
        assert result.returncode in (0, 1), result.stderr
        return json.loads(result.stdout)

    return check_it


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """Return an environment with a CUDA torch and flash-attn."""
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3")
    return tmp_path / "env"
