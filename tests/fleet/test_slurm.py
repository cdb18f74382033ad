"""Sixteen nodes of a real Slurm: alike, then one of each kind that differs.

What differs on a node is planted: `nvidia-smi` is a script, an environment is a folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.fleet.nodes import FADOCTOR, ROOT, fleet, text_of, told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet.conftest import Slurm

pytestmark = pytest.mark.slurm

WAIT_S, PATIENT_S = 25, 120
"""How long srun waits for the last node after the first: where one hangs, where none does."""


def srun(slurm: Slurm, node: Path, *arguments: str, options: tuple[str, ...] = (),
         drift: bool = False, merged: bool = False) -> bytes:  # fmt: skip
    """Return what sixteen nodes print, whatever becomes of them."""
    wait = f"--wait={WAIT_S if drift else PATIENT_S}"
    argv = ["srun", "-N16", "--ntasks-per-node=1", wait, "--kill-on-bad-exit=0"]
    env = {**slurm.env, "FADOCTOR_TEST_DRIFT": "1" if drift else "0"}
    stderr = subprocess.STDOUT if merged else subprocess.DEVNULL
    done = subprocess.run(
        [*argv, *options, str(node), *arguments],
        env=env, stdout=subprocess.PIPE, stderr=stderr, timeout=180, check=False, cwd=ROOT,
    )  # fmt: skip
    return done.stdout


def test_all_alike_through_records_pieces_files_and_labels(
    slurm: Slurm, node: Path, tmp_path: Path
) -> None:
    _, page = fleet(srun(slurm, node, "--format", "fleet"))
    assert (page["healthy"], page["alike"], page["expected"]) == (16, 16, 16)
    srun(slurm, node, "--output-dir", str(tmp_path / "reports"))
    assert told(fleet(b"", str(tmp_path / "reports"))[1]) == told(page)
    labels: tuple[tuple[str, ...], ...] = ((), ("-l",))
    for options in labels:
        pieces = srun(slurm, node, "--format", "frames", options=options, merged=True)
        assert told(fleet(pieces)[1]) == told(page)
    labels = (("-l",), ("-u",), ("-l", "-u"))
    for options in labels:
        records = srun(slurm, node, "--format", "fleet", options=options, merged=True)
        code, found = fleet(records)
        is_told = found["silent_count"] or found["unreadable_count"]
        assert told(found) == told(page) or (code == 3 and is_told), options
    # Unbuffered, lines are cut anywhere: what is damaged counts for nothing.
    code, found = fleet(srun(slurm, node, "--format", "frames", options=("-u",), merged=True))
    assert found["healthy"] == found["answered"]
    assert code == (3 if found["silent_count"] or found["unreadable_count"] else 0)


def test_each_node_that_differs_is_named_with_what(slurm: Slurm, node: Path) -> None:
    slurm.kill("n03")
    text = srun(slurm, node, "--format", "fleet", options=("-l", "--no-kill"), drift=True)
    code, page = fleet(text)
    said = text_of(text)
    assert page["silent"] == "n[03,05,11]", said
    differs = {
        group["nodes"]: {each["key"] for each in group["differs"]}
        for group in page["groups"]
        if not group["is_reference"]
    }
    assert differs == {
        "n07": {"gpu.driver"}, "n09": {"pkg.flash-attn"}, "n13": {"sys.image"}
    }  # fmt: skip
    assert (page["answered"], page["alike"]) == (13, 10)
    assert code in (1, 3)
    assert "n07: driver 550.54.15 instead of 580.95.05" in said
    assert "n09: flash-attn 2.7.4 instead of 2.8.3" in said
    assert "n13: container image other.sif instead of none" in said
    assert len(said.splitlines()) <= 40


def test_the_same_drift_through_files_and_pieces(slurm: Slurm, node: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    options = ("--format", "fleet", "--output-dir", str(folder))
    _, records = fleet(srun(slurm, node, *options, drift=True))
    files = fleet(b"", "--expect", "n[01-16]", str(folder))[1]
    assert told(files) == told(records)
    pieces = fleet(srun(slurm, node, "--format", "frames", drift=True))[1]
    assert told(pieces) == told(records)


def test_fleet_asks_the_nodes_itself(slurm: Slurm, node: Path) -> None:
    good = str(node.parent / "good")
    argv = [*FADOCTOR, "fleet", "--slurm", "--no-smoke", "--python", good, "--timeout", "100"]
    shown = subprocess.run(
        [*argv, "--", "-N4"], env=slurm.env, capture_output=True, text=True, timeout=60,
        check=False, cwd=ROOT,
    )  # fmt: skip
    assert shown.returncode == 0
    assert shown.stdout.startswith("srun --ntasks-per-node=1")
    assert "-N4" in shown.stdout
    ran = subprocess.run(
        [*argv, "--run", "--format", "json", "--", "-N4"], env=slurm.env, capture_output=True,
        text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    page = json.loads(ran.stdout)
    assert (page["expected"], page["answered"], page["alike"]) == (4, 4, 4)


def test_tasks_beside_the_first_cost_nothing(slurm: Slurm, node: Path) -> None:
    text = srun(slurm, node, "--format", "fleet", options=("-N4", "-n8", "--ntasks-per-node=2"))
    assert text.count(b"@fad1") == 8
    assert fleet(text)[1]["answered"] == 4


def test_records_through_clush(slurm: Slurm, node: Path) -> None:
    """With a shell instead of ssh: the prefixes are its own. (pdsh's modules cannot be moved.)"""
    clush = [sys.executable, "-c", "from ClusterShell.CLI.Clush import main; main()"]
    command = f"SLURMD_NODENAME=%h {node} --format fleet"
    packages = next(slurm.packages.glob("root/usr/lib/python3/dist-packages"))
    done = subprocess.run(
        [*clush, "-R", "exec", "-w", "n[01-04]", command], capture_output=True, timeout=120,
        env={**slurm.env, "PYTHONPATH": str(packages)}, check=False, cwd=ROOT,
    )  # fmt: skip
    page = fleet(done.stdout, "--expect", "n[01-04]")[1]
    assert (page["answered"], page["alike"]) == (4, 4), done.stderr
