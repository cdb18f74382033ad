"""A real environment: torch from this one, and packages of an index that are wrong for it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.versions import version_part
from tests.cli.environments import TAG
from tests.unit.repair.apply.trees import manifest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.torch,
    pytest.mark.skipif(TAG != "cp311", reason="the old xformers has no file for this Python"),
]

WRONG = ("xformers==0.0.28", "triton==2.0.0")
NEEDED = ("torch", "torchgen", "functorch", "sympy", "mpmath", "networkx", "jinja2", "markupsafe",
          "fsspec", "filelock", "typing_extensions", "einops")  # fmt: skip


def pytest_needs_network() -> bool:
    """Return whether the caller allows a package index."""
    return "network" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """Return an environment with a CPU torch, a wrong xformers, a wrong triton, no extension."""
    if not pytest_needs_network():
        pytest.skip("needs a package index; set FADOCTOR_TESTS_REQUIRE=network")
    folder = (tmp_path / "env").resolve()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    site = next(folder.glob("lib/python*/site-packages"))
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    _copy(Path(spec.origin).parents[1], site)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps"]
    tools = ("einops", "numpy", "packaging", "wheel", "psutil", "ninja")
    subprocess.run([*pip, *WRONG, *tools], check=True)
    # as a machine without nvcc leaves it in pip's cache
    env = {
        **os.environ,
        "FLASH_ATTENTION_FORCE_BUILD": "TRUE",
        "FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE",
    }
    build = [*pip, "--no-build-isolation", "--no-cache-dir", "flash-attn==2.8.3"]
    subprocess.run(build, check=True, env=env)
    return folder


def _copy(source: Path, site: Path) -> None:
    """Link torch and what it needs: a copy has gigabytes."""
    for entry in source.iterdir():
        name = entry.name.partition("-")[0].removesuffix(".py").lower()
        if name not in NEEDED or (site / entry.name).exists():
            continue
        if entry.is_dir():
            shutil.copytree(entry, site / entry.name, copy_function=os.link)
        else:
            os.link(entry, site / entry.name)


def test_repairs_checks_and_restores(run: Run, real: Path) -> None:
    before = manifest(real)
    broken = run("check", "--no-smoke", "--python", str(real))
    assert broken.returncode == 1
    fixed = run("fix", "--yes", "--python", str(real))
    assert fixed.returncode == 0, fixed.stderr
    checked = run("check", "--python", str(real))
    assert checked.returncode == 0, checked.stdout
    assert "flash-attn" not in _freeze(real)
    assert version_part(_freeze(real)["xformers"], "base") != "0.0.28"
    undone = run("fix", "--undo", "--python", str(real))
    assert undone.returncode == 0, undone.stderr
    after = manifest(real)
    assert after == before
    assert not (real / ".fadoctor").exists()


def test_the_installer_agrees(run: Run, real: Path) -> None:
    result = run("fix", "--dry-run", "--verify", "--python", str(real))
    assert result.returncode == 1
    assert "pip agrees" in result.stdout


def _freeze(folder: Path) -> dict[str, str]:
    argv = [str(folder / "bin" / "python"), "-m", "pip", "list", "--format", "freeze"]
    out = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return dict(line.split("==", 1) for line in out.lower().splitlines() if "==" in line)
