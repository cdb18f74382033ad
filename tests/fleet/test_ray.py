"""Two nodes of a real Ray cluster: alike, then one of them dead."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ray

SCRIPT = Path(__file__).parents[2] / "tools" / "ray_nodes.sh"
OTHER = os.environ.get("FADOCTOR_TESTS_RAY_OTHER", "")
"""An environment with ray and another Python, where there is one: no node of it can join."""
ISOLATED = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with ray, from the package index."""
    kept = os.environ.get("FADOCTOR_TESTS_RAY", "")
    if kept:
        return Path(kept)
    if (
        shutil.which("unshare") is None
        or subprocess.run([*ISOLATED, "true"], check=False).returncode
    ):
        pytest.skip("no network of its own can be made here (unshare)")
    folder = tmp_path_factory.mktemp("ray")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    argv = [str(folder / "bin" / "pip"), "install", "--quiet", "ray"]
    subprocess.run(argv, check=True, timeout=500)
    return folder


def test_two_nodes_are_alike_and_one_that_died_is_named(ray: Path, tmp_path: Path) -> None:
    ask = [sys.executable, "-m", "fadoctor", "fleet", "--python", str(ray), "--no-smoke"]
    done = subprocess.run(
        [*ISOLATED, str(SCRIPT), str(ray / "bin"), str(tmp_path), *ask, "--timeout", "30"],
        capture_output=True, text=True, timeout=400, check=False, cwd=SCRIPT.parents[1],
        env={**os.environ, "RAY_OTHER": OTHER},
    )  # fmt: skip
    logs = [path.read_text()[-2_000:] for path in tmp_path.glob("*.log")]
    assert done.returncode == 0, (done.stderr, logs)
    alike: dict[str, Any] = json.loads((tmp_path / "alike.json").read_text())
    assert (alike["expected"], alike["answered"], alike["alike"]) == (2, 2, 2)
    dead: dict[str, Any] = json.loads((tmp_path / "dead.json").read_text())
    assert (dead["answered"], dead["silent_count"]) == (1, 1)
    assert [each["who"] for each in dead["spoke"]] == [dead["silent"]]
    if OTHER:
        said = (tmp_path / "other.txt").read_text()
        assert "Version mismatch" in said
        assert "--python must name an interpreter with the cluster's Python and ray" in said
        assert said.endswith("exit 2\n")
