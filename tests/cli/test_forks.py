"""A fork says and returns what a process of its own does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import forks
from tests.cli.conftest import INSTALLED, Run

FACTS = Path(__file__).parents[1] / "golden" / "linux-4090-wheel-mismatch" / "facts.json"

pytestmark = pytest.mark.skipif(bool(INSTALLED), reason="an installed command is never forked")


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("--version",), None),
        (("check", "--facts", str(FACTS)), None),
        (("check", "--no-such-option"), None),
        (("explain", "-"), "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"),
        (("explain", "-"), ""),
        (("facts", "--facts", str(FACTS)), None),
    ],
)
def test_it_says_the_same(run: Run, arguments: tuple[str, ...], given: str | None) -> None:
    forked = run(*arguments, input=given)
    alone = run(*arguments, input=given, encoding="utf-8")  # no option of a fork
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        alone.returncode, alone.stdout, alone.stderr
    )  # fmt: skip


def test_what_an_interpreter_reads_at_its_start_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    env = dict(os.environ)
    assert forks.suits({"cwd": Path(), "input": ""}, env) == (sys.platform == "linux")
    assert not forks.suits({"cwd": Path(), "encoding": "utf-8"}, env)
    assert not forks.suits({"cwd": Path()}, {**env, "PYTHONIOENCODING": "ascii"})
    assert not forks.suits({"cwd": Path()}, {**env, "LC_ALL": "POSIX"})


def test_one_that_hangs_is_ended(forking: forks.Forks, tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forking.run(["run", "--", "sleep", "60"], dict(os.environ), tmp_path, None, 1.0)
    again = forking.run(["--version"], dict(os.environ), tmp_path, None, 60.0)
    assert again.returncode == 0
