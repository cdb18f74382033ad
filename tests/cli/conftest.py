"""Run the command line as a user does: a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli import forks
from tests.cli.configs import A100
from tests.cli.environments import add_flash_attn, add_torch, make_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.cli.configs import Told

INSTALLED = shlex.split(os.environ.get("FADOCTOR_TESTS_COMMAND", ""))
COMMAND = INSTALLED or [sys.executable, "-m", "fadoctor"]
"""What is tested: this checkout, or the command of an installed wheel."""

TIMEOUT_S = 120

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def forking() -> Iterator[forks.Forks]:
    """Return what starts the commands of this checkout without their imports."""
    found = forks.Forks()
    yield found
    found.close()


@pytest.fixture
def run(tmp_path: Path, forking: forks.Forks) -> Run:
    """Run fadoctor in an empty folder; `input` is its standard input, `env` adds to ours.

    An installed command starts as users start it; of this checkout, forks do the same in half the
    time (tests/cli/test_startup.py starts it as it is).
    """
    folder = tmp_path / "cwd"
    folder.mkdir()

    def run_it(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        # Wide: sentences stay whole however long the temporary folder's name is.
        env = {**os.environ, "COLUMNS": "500", **options.pop("env", {})}
        options.setdefault("cwd", folder)
        if not INSTALLED and forks.suits(options, env):
            text, cwd = options.get("input"), options["cwd"]
            return forking.run(list(arguments), env, cwd, text, TIMEOUT_S)
        argv = [*COMMAND, *arguments]
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=env, **options
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
def told(check: Callable[..., Any], tmp_path: Path) -> Callable[..., Told]:
    """Return what is found of some files, beside the healthy A100 with overlays and other facts."""

    def tell(
        files: Mapping[str, str], *arguments: str, facts: Mapping[str, str | None] = {}
    ) -> Told:
        saved = json.loads(Path(A100).read_text(encoding="utf-8"))
        for name, value in facts.items():
            saved["facts"][name] = (
                {"state": "absent", "source": "a test"}
                if value is None
                else {"state": "known", "value": value, "source": "a test"}
            )
        environment = tmp_path / "facts.json"
        environment.write_text(json.dumps(saved), encoding="utf-8")
        options: list[str] = []
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
            options += ["--config", str(tmp_path / name)]
        report = check("--facts", str(environment), *options, *arguments)
        return {finding["rule_id"]: finding for finding in report["findings"]}

    return tell


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """Return an environment with a CUDA torch and flash-attn."""
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3")
    return tmp_path / "env"
