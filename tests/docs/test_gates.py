"""Each gate that a page recommends: without a GPU, with a broken node and with a healthy one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/for").glob("*")])
NODES = {"no-driver-laptop": 3, "linux-4090-wheel-mismatch": 1, "linux-a100-healthy": 0}
"""Recorded machine -> the exit code of a gate there."""

IMAGES = {"no-driver-laptop": 0, "linux-4090-wheel-mismatch": 1, "linux-a100-healthy": 0}
"""Recorded packages -> the exit code where the gate names the GPU and the driver."""

_SHELL = re.compile(r"^ {4}(?:srun \S+ )*(fadoctor check [^`\n]*--strict[^`\n]*)$", re.MULTILINE)
_IMAGE = re.compile(r"^ {4}RUN (fadoctor check [^`\n]*--strict[^`\n]*)$", re.MULTILINE)
_POD = re.compile(r"command: \[(fadoctor, check, [^\]]*--strict[^\]]*)\]")


def gates() -> list[str]:
    """Return every command with `--strict` of the pages, as a line for a shell."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += _SHELL.findall(text)
        found += [" ".join(each.split(", ")) for each in _POD.findall(text)]
    return sorted(set(found))


def gates_of_images() -> list[str]:
    """Return the gates of Dockerfiles, without the interpreter: a recording stands for it."""
    found = [each for page in PAGES for each in _IMAGE.findall(page.read_text(encoding="utf-8"))]
    return [re.sub(r" --python \S+", "", each) for each in found]


def gate(line: str, node: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line for a shell where `fadoctor` sees a recorded machine."""
    facts = ROOT / "tests" / "golden" / node / "facts.json"
    program = folder / "fadoctor"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@" --facts {facts}\n')
    program.chmod(0o755)
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-c", line], env={**os.environ, **path, **env}, cwd=folder,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("line", gates())
def test_a_gate_says_what_the_node_is(line: str, node: str, tmp_path: Path) -> None:
    """`fadoctor check --strict --quiet || exit 1` was green on a node without a GPU."""
    done = gate(line, node, tmp_path)
    code = NODES[node]
    assert done.returncode == (min(code, 1) if "|| exit 1" in line else code), done
    assert done.stdout.startswith({0: "+ ", 1: "x ", 3: "? "}[code]) or not done.stdout.isascii()


@pytest.mark.parametrize("node", IMAGES)
@pytest.mark.parametrize("line", gates_of_images())
def test_a_gate_of_an_image_needs_no_gpu(line: str, node: str, tmp_path: Path) -> None:
    assert gate(line, node, tmp_path).returncode == IMAGES[node]


def test_a_gate_of_an_image_without_packages_is_not_green(tmp_path: Path) -> None:
    """It was 0: nothing was wrong in an image that holds nothing."""
    [line] = gates_of_images()
    program = tmp_path / "fadoctor"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@" --site-packages {tmp_path}\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", line], env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 3, done


@pytest.mark.parametrize("node", NODES)
def test_the_action_is_a_gate_where_it_is_asked_to_be(node: str, tmp_path: Path) -> None:
    line = shlex.join(["bash", str(ROOT / "tools" / "action.sh")])
    env = {"FADOCTOR_ANNOTATIONS": str(tmp_path / "notes.txt"), "INPUT_STRICT": "true"}
    assert gate(line, node, tmp_path, **env).returncode == NODES[node]
    assert (tmp_path / "fadoctor.sarif").stat().st_size


def test_the_pages_have_gates() -> None:
    assert len(gates()) >= 2
    assert len(gates_of_images()) == 1
    assert any("|| exit 1" in each for each in gates())
