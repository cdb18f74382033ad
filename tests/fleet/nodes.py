"""Nodes that differ in what is planted: `nvidia-smi` is a script, an environment is a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.environments import add_flash_attn, add_torch, make_environment

ROOT = Path(__file__).parents[2]
FADOCTOR = [sys.executable, "-m", "fadoctor"]

SMI = """#!/bin/sh
case "$SLURMD_NODENAME:$FADOCTOR_TEST_DRIFT" in n07:1) driver=550.54.15;; *) driver=580.95.05;; esac
case "$*" in
*query-gpu*) for i in 0 1; do
  echo "$i, NVIDIA H100 80GB HBM3, 9.0, 81559, Disabled, $driver, GPU-0000000$i"; done;;
*) echo "| NVIDIA-SMI $driver    Driver Version: $driver    CUDA Version: 13.0     |";;
esac
"""

NODE = """#!/bin/sh
unset LD_LIBRARY_PATH
PATH={bin}:$PATH
env={folder}/good
case "$SLURMD_NODENAME:$FADOCTOR_TEST_DRIFT" in
n05:1) exec sleep 600;;
n09:1) env={folder}/other;;
n11:1) echo "Segmentation fault (core dumped)"; head -c 3000 /dev/urandom; echo; exit 139;;
n13:1) APPTAINER_CONTAINER=/images/other.sif; export APPTAINER_CONTAINER;;
esac
exec {python} -m fadoctor check --no-smoke --exit-zero "$@" "$env"
"""


def planted(folder: Path) -> Path:
    """Return the script that every node runs; its name is in SLURMD_NODENAME."""
    for name, version in (("good", "2.8.3"), ("other", "2.7.4")):
        site = make_environment(folder / name)
        add_torch(site, "2.8.0", "12.8")
        add_flash_attn(site, version)
    (folder / "bin").mkdir()
    for path, text in ((folder / "bin" / "nvidia-smi", SMI), (folder / "node.sh", NODE)):
        filled = text.replace("{folder}", str(folder)).replace("{python}", sys.executable)
        path.write_text(filled.replace("{bin}", str(folder / "bin")))
        path.chmod(0o755)
    return folder / "node.sh"


def fleet(text: bytes, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and page."""
    run = subprocess.run(
        [*FADOCTOR, "fleet", "--format", "json", *arguments],
        input=text, capture_output=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode in (0, 1, 3), run.stderr
    return run.returncode, json.loads(run.stdout)


def text_of(text: bytes) -> str:
    run = subprocess.run(
        [*FADOCTOR, "fleet"], input=text, capture_output=True, timeout=120, check=False, cwd=ROOT
    )
    return run.stdout.decode()


def told(page: dict[str, Any]) -> dict[str, Any]:
    """Return a page without what says where it was read."""
    left_out = ("unreadable", "spoke", "unreadable_count")
    return {name: value for name, value in page.items() if name not in left_out}
