"""The examples of each help run as they stand, in a folder where somebody works."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.main import get_command

from fadoctor.cli.app import build
from fadoctor.cli.examples import EXAMPLES
from tests.cli.conftest import COMMAND, Run
from tests.cli.environments import add_flash_attn, add_torch, make_environment
from tests.unit.fleet.samples import line

if TYPE_CHECKING:
    from pathlib import Path

LINES = [each for several in EXAMPLES.values() for each in several]
_RUN_SOMETHING = ("fadoctor run", "fadoctor trace", "fadoctor smoke --")
"""They start an interpreter, or several: seconds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with an environment, files and a log."""
    root = tmp_path_factory.mktemp("project")
    site = make_environment(root / ".venv")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3")
    (root / "requirements.txt").write_text("torch==2.8.0\nflash-attn==2.8.3\n")
    (root / "train.yaml").write_text("model_name_or_path: x\nstage: sft\nflash_attn: fa2\n")
    (root / "train.py").write_text("print('trained')\n")
    (root / "train.log").write_text("RuntimeError: FlashAttention only supports Ampere GPUs\n")
    (root / "reports").mkdir()
    (root / "reports" / "n00.txt").write_bytes(line(0))
    (root / "records.txt").write_bytes(b"".join(map(line, range(3))))
    rules = root / "my-rules" / "house"
    rules.mkdir(parents=True)
    (rules / "house-rule.yaml").write_text(HOUSE_RULE)
    path = root / "bin"
    path.mkdir()
    (path / "fadoctor").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    (path / "fadoctor").chmod(0o755)
    (path / "python").symlink_to(sys.executable)
    return root


HOUSE_RULE = """\
id: house-rule
title: A rule of the house
since: 0.1.0
area: house
severity: note
confidence: low
when: {host.os: plan9}
message: This is Plan 9.
why: Nobody has tried that.
references:
  - {type: WEB, url: "https://example.org/plan9"}
verified: reported
cases:
  - {name: it is, facts: {host.os: plan9}, expect: {outcome: fail}}
  - {name: it is not, facts: {host.os: linux}, expect: {outcome: pass}}
  - {name: nobody knows, facts: {host.os: {unknown: not read}}, expect: {outcome: unknown}}
"""


def lines(*, slow: bool) -> list[str]:
    return [each for each in LINES if each.startswith(_RUN_SOMETHING) is slow]


@pytest.mark.parametrize("typed", lines(slow=False))
def test_an_example_runs(typed: str, folder: Path) -> None:
    run_line(typed, folder)


@pytest.mark.long
@pytest.mark.parametrize("typed", lines(slow=True))
def test_an_example_that_starts_something_runs(typed: str, folder: Path) -> None:
    run_line(typed, folder)


def run_line(typed: str, folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", typed],
        cwd=folder,
        env={
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(folder),
            "VIRTUAL_ENV": str(folder / ".venv"),
        },
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr
    assert "fadoctor:" not in done.stderr
    if "--output" not in typed and ">" not in typed:
        assert done.stdout + done.stderr


def test_every_command_has_examples_and_its_help_shows_them(run: Run) -> None:
    named = set(EXAMPLES)
    root = get_command(build())
    groups = {name for name, each in root.commands.items() if hasattr(each, "commands")}  # type: ignore[attr-defined]  # a group
    parts = {f"{g} {n}" for g in groups for n in root.commands[g].commands}  # type: ignore[attr-defined]  # a group
    assert named == {*root.commands} - groups | parts  # type: ignore[attr-defined]  # a group
    for name in ("check", "rules show"):
        text = run(*name.split(), "--help", env={"COLUMNS": "100"}).stdout
        assert all(each in text for each in EXAMPLES[name])


@pytest.mark.parametrize("columns", [80])
def test_an_example_fits_a_terminal(columns: int) -> None:
    assert [each for each in LINES if len(each) > columns - 2] == []
