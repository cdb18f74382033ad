"""A Slurm of sixteen virtual nodes, for as long as the tests run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fleet.nodes import planted

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).parents[2] / "tools" / "slurm.sh"
NODES = 16


class Slurm:
    """A Slurm that runs here."""

    def __init__(self, folder: Path, packages: Path, exports: str) -> None:
        self.folder, self.packages = folder, packages
        found = dict(re.findall(r"export (\w+)=(\S+)", exports))
        path = found["PATH"].replace("$PATH", os.environ["PATH"])
        self.env = {**os.environ, **found, "PATH": path}

    def kill(self, node: str) -> None:
        """End the daemon of a node, as a crash does."""
        for row in (self.folder / "pids").read_text().splitlines():
            pid, _, name = row.partition(" ")
            if name == node:
                os.kill(int(pid), 9)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with Debian's packages of Slurm, unpacked."""
    kept = os.environ.get("FADOCTOR_TESTS_SLURM", "")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("slurm")
    if (folder / "root").is_dir():
        return folder
    argv = [str(SCRIPT), "install", str(folder)]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    if run.returncode:
        reason = f"Debian's packages of Slurm cannot be had: {run.stderr[-300:]}"
        if "slurm" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(","):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return folder


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Return the script that every node runs."""
    return planted(tmp_path)


@pytest.fixture
def slurm(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Return a fresh Slurm, on ports of its own; its processes end with the test."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    env = {**os.environ, "FADOCTOR_SLURM_PORT": str(17_000 + 100 * worker)}
    folder = tmp_path_factory.mktemp("nodes")
    argv = [str(SCRIPT), "start", str(folder), str(NODES), str(packages)]
    started = subprocess.run(
        argv, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    try:
        assert started.returncode == 0, started.stderr
        yield Slurm(folder, packages, started.stdout)
    finally:
        subprocess.run([str(SCRIPT), "stop", str(folder)], timeout=60, check=True)
