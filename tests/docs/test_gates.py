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

_SHELL = re.compile(r"^ {4}(?:srun \S+ )*(fadoctor check [^`\n]*--strict[^`\n]*)$", re.MULTILINE)
_POD = re.compile(r"command: \[(fadoctor, check, [^\]]*--strict[^\]]*)\]")


def gates() -> list[str]:
    """Return every command with `--strict` of the pages, as a line for a shell."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += _SHELL.findall(text)
        found += [" ".join(each.split(", ")) for each in _POD.findall(text)]
    return sorted(set(found))


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("line", gates())
def test_a_gate_says_what_the_node_is(line: str, node: str, tmp_path: Path) -> None:
    """`fadoctor check --strict --quiet || exit 1` was green on a node without a GPU."""
    facts = ROOT / "tests" / "golden" / node / "facts.json"
    program = tmp_path / "fadoctor"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@" --facts {facts}\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", line], env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    code = NODES[node]
    assert done.returncode == (min(code, 1) if "|| exit 1" in line else code), done
    assert done.stdout.startswith({0: "+ ", 1: "x ", 3: "? "}[code]) or not done.stdout.isascii()


def test_the_pages_have_gates() -> None:
    assert len(gates()) >= 2
    assert any("|| exit 1" in each for each in gates())
