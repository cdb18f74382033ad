"""`fleet` on the command line: exit codes, forms, two reports."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from tests.unit.fleet.samples import content, line

ROOT = Path(__file__).resolve().parents[2]

if TYPE_CHECKING:
    from tests.cli.conftest import Run

FINE = b"".join(map(line, range(16))).decode()
BAD = line(3, content(1, ("e flash-attn-missing",))).decode()


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (FINE, (), 0),
        (FINE, ("--expect", "17"), 3),
        (FINE, ("--expect", "n[00-16]"), 3),
        (FINE + "@fad1 0", (), 3),
        (FINE.replace("n03", "n99"), (), 3),
        (FINE[:-100], (), 3),
        ("", (), 3),
        ("", ("--exit-zero",), 0),
        (BAD, ("--expect", "1"), 1),
        (BAD, ("--expect", "1", "--fail-on", "never"), 0),
        (FINE, ("--expect", "n[1-"), 2),
        (FINE, ("--group-by", "torch"), 2),
    ],
)
def test_exit_codes(run: Run, text: str, options: tuple[str, ...], code: int) -> None:
    assert run("fleet", *options, input=text).returncode == code


def test_what_cannot_be_read_is_never_healthy(run: Run) -> None:
    found = run("fleet", "--format", "json", input=FINE[:-100] + "garbage\n")
    report = json.loads(found.stdout)
    assert (report["healthy"], report["silent_count"], report["unreadable_count"]) == (15, 1, 1)
    assert report["silent"] == "n15"


def test_every_form_is_written(run: Run, tmp_path: Path) -> None:
    names = ("a.txt", "a.json", "a.jsonl", "a.prom", "a.html")
    outputs = [part for name in names for part in ("--output", str(tmp_path / name))]
    assert run("fleet", *outputs, input=FINE).returncode == 0
    assert all((tmp_path / name).read_text() for name in names)
    lines = [json.loads(row) for row in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in lines] == ["fleetreport", "group"]


@pytest.mark.long
def test_two_environments_of_one_machine(run: Run, stack: Path, tmp_path: Path) -> None:
    for name, gpu in (("a", "A100"), ("b", "V100")):
        options = ("--no-smoke", "--exit-zero", "--gpu", gpu, "--format", "json")
        saved = run("check", *options, "--output", str(tmp_path / f"{name}.json"), str(stack))
        assert saved.returncode == 0
    found = run("fleet", "diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert "GPUs 1x" in found.stdout
    assert "V100" in found.stdout
    same = run("fleet", "diff", str(tmp_path / "a.json"), str(tmp_path / "a.json"))
    assert "a does not differ from" in same.stdout
    assert (found.returncode, same.returncode) == (1, 0)
    assert run("fleet", "diff", str(tmp_path / "a.json")).returncode == 2


def test_records_of_checks_become_a_page(run: Run, stack: Path) -> None:
    records = []
    for number in range(2):
        env = {"SLURMD_NODENAME": f"n{number}", "SLURM_STEP_NODELIST": "n[0-2]"}
        options = ("--no-smoke", "--format", "fleet", "--exit-zero")
        records.append(run("check", *options, str(stack), env=env).stdout)
    found = run("fleet", input="".join(records))
    assert found.returncode == 3
    assert "Silent: 1 node: n2" in found.stdout


def test_the_page_keeps_to_its_schema(run: Run) -> None:
    schema = json.loads(run("rules", "schema", "fleet").stdout)
    page = json.loads(run("fleet", "--format", "json", input=FINE + BAD + "@fad1 cut").stdout)
    jsonschema.validate(page, schema)


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for srun")
def test_asking_through_srun(run: Run, tmp_path: Path) -> None:
    """A script stands for srun: what is asked, what is merged, what is refused."""
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    (tmp_path / "records").write_text(FINE)
    srun.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat {tmp_path}/records\n')
    srun.chmod(0o755)
    env = {"PATH": f"{srun.parent}:{os.environ['PATH']}"}
    shown = run("fleet", "--slurm", "--no-smoke", "--", "-N16", env=env)
    assert not (tmp_path / "asked").exists()
    assert shown.stdout.startswith("srun --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=60 -N16")
    assert shown.stdout.endswith("--no-smoke | fadoctor fleet\n")
    ran = run("fleet", "--slurm", "--run", "--no-smoke", "--", "-N16", env=env)
    assert (ran.returncode, "All 16 nodes are healthy" in ran.stdout) == (0, True), ran.stderr
    assert "-N16" in (tmp_path / "asked").read_text()
    (tmp_path / "n01.json").write_text("{}")
    stale = run("fleet", "--slurm", "--run", "--output-dir", str(tmp_path), env=env)
    assert (stale.returncode, "an earlier run" in stale.stderr) == (2, True)
    none = run("fleet", "--slurm", "--run", env={"PATH": str(tmp_path)})
    assert (none.returncode, "is this a node of a Slurm cluster?" in none.stderr) == (2, True)


def test_the_page_about_fleets_shows_what_is_printed(run: Run) -> None:
    """Its example was written by hand, and had titles that no rule has."""
    printed = run("fleet", "tests/golden/fleet/records.txt", cwd=ROOT, env={"COLUMNS": "96"})
    shown = textwrap.indent(printed.stdout, " " * 4)
    assert shown in (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    short = run("fleet", "--quiet", "tests/golden/fleet/records.txt", cwd=ROOT)
    assert short.stdout.count("\n") == 1
    assert all(node in short.stdout for node in ("n[09,12]", "n[03,05]", "n20", "n07"))
