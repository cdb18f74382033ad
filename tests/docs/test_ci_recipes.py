"""The commands of docs/ci.md run as they are written, on files made for them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ci.md").read_text("utf-8")
_COMMAND = r"(?<![`\w])fadoctor (?:check|hook) [^'\n`|]*--(?:gpu|output)[^'\n`|]*"
LINES = sorted(set(re.findall(_COMMAND, PAGE)))


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_runs(line: str, tmp_path: Path) -> None:
    lock = 'version = 1\n\n[[package]]\nname = "torch"\nversion = "2.8.0"\n'
    lock += 'source = { registry = "https://index.example.org/simple" }\n'
    (tmp_path / "uv.lock").write_text(lock, encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, *shlex.split(line)[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    # An interpreter without packages is undecided, which --strict tells by 3.
    allowed = (0, 1, 3) if "--strict" in line else (0, 1)
    assert done.returncode in allowed, done.stderr
    assert "fadoctor:" not in done.stderr
    for name in re.findall(r"--output [a-z]+:(\S+)", line):
        assert (tmp_path / name).stat().st_size


def test_the_page_has_commands() -> None:
    assert len(LINES) >= 3
