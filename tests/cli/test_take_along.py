"""Plans as files of other tools, and plans from nothing, by the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor import __version__

if TYPE_CHECKING:
    from tests.cli.conftest import Run

FACTS = Path(__file__).parents[1] / "golden" / "linux-5090-torch26" / "facts.json"
MACHINE = ("--gpu", "H100", "--driver", "580.65.06")
ASSUMED = (*MACHINE, "--python-version", "3.12", "--platform", "linux_x86_64", "--glibc", "2.35")
NEW = ("fix", "--dry-run", "--new", "--want", "flash-attn", *ASSUMED)
FILES = {
    "dockerfile": "Dockerfile",
    "uv": "pyproject.toml",
    "pixi": "pixi.toml",
    "conda": "environment.yml",
}


@pytest.mark.long
def test_what_is_written_from_nothing_works_by_its_own_check(run: Run, tmp_path: Path) -> None:
    outputs = [word for form, name in FILES.items() for word in ("--output", f"{form}:{name}")]
    made = run(*NEW, *outputs, "--output", "book.ipynb")
    assert (made.returncode, made.stdout, made.stderr) == (1, "", "")
    folder = tmp_path / "cwd"
    for name in FILES.values():
        text = (folder / name).read_text()
        assert "flash-attn" in text
        assert f"fadoctor check --requirements {name} --gpu H100 --driver 580.65.06" in text
        checked = run(
            "check", "--requirements", name, "--format", "json", *MACHINE, "--glibc", "2.35",
            "--platform", "linux_x86_64",
        )  # fmt: skip
        assert checked.returncode == 0, checked.stderr
        report = json.loads(checked.stdout)
        assert (checked.returncode, report["summary"]["error"]) == (0, 0), name
        works = {
            (each["backend"], each["dtype"])
            for each in report["verdicts"]
            if each["predicted"] == "works"
        }
        assert ("fa2", "bf16") in works, name
    book = json.loads((folder / "book.ipynb").read_text())
    assert book["nbformat"] == 4


def test_a_dockerfile_of_nothing_is_what_it_is(run: Run) -> None:
    made = run(*NEW, "--format", "dockerfile")
    assert made.returncode == 1
    lines = made.stdout.splitlines()
    assert (
        lines[0]
        == f"# made by fadoctor {__version__}: every rule was checked, no problem was found"
    )
    assert "/" not in lines[0]
    assert "FROM --platform=linux/amd64 python:3.12-bookworm" in lines
    assert any(line.startswith("RUN python -m pip install --no-cache-dir") for line in lines)


@pytest.mark.long
def test_a_script_from_nothing_makes_an_environment_and_leaves_this_one_alone(run: Run) -> None:
    made = run(*NEW, "--format", "script")
    code = [line for line in made.stdout.splitlines() if line and not line.startswith("#")]
    assert code[:2] == ["set -eu", "python3.12 -m venv .venv-fadoctor"]
    assert all(line.startswith(".venv-fadoctor/bin/python -m pip ") for line in code[2:])
    subprocess.run(["sh", "-n"], input=made.stdout, text=True, check=True, timeout=60)


def test_an_environment_elsewhere_is_taken_along(run: Run) -> None:
    made = run("fix", "--dry-run", "--facts", str(FACTS), "--format", "uv")
    assert made.returncode == 1
    assert '"torch==' in made.stdout
    assert "requires-python" in made.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fix", "--yes", "--format", "uv"), "add --dry-run"),
        (("fix", "--yes", "--output", "Dockerfile.dockerfile"), "add --dry-run"),
        (("fix", "--yes", "--new"), "--new is for another environment: add --dry-run"),
        (("fix", "--dry-run", "--new", "--requirements", "r.txt"), "exclude each other"),
        (("fix", "--dry-run", "--new", "--facts", str(FACTS)), "exclude each other"),
    ],
)
def test_what_cannot_be_is_said(run: Run, arguments: tuple[str, ...], says: str) -> None:
    made = run(*arguments)
    assert made.returncode == 2
    assert says in made.stderr


@pytest.mark.network
@pytest.mark.slow
def test_uv_and_pip_take_what_is_written(run: Run, tmp_path: Path) -> None:
    """Without a file of GitHub, which not every index machine reaches."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"  # uv has no other at hand
    assumed = [own if word == "3.12" else word for word in ASSUMED]
    new = ("fix", "--dry-run", "--new", "--want", "hub-fa2", *assumed)
    folder = tmp_path / "cwd"
    for form, name in (("uv", "pyproject.toml"), ("requirements", "requirements.in")):
        run(*new, "--output", f"{form}:{name}")
        argv = ["lock"] if form == "uv" else ["pip", "compile", name]
        done = subprocess.run(
            [sys.executable, "-m", "uv", *argv],
            capture_output=True, text=True, check=False, timeout=300, cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    report = ("--dry-run", "--ignore-installed", "--no-deps", "--report", "pip.json")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", *report, "-r", "requirements.in"],
        capture_output=True, text=True, check=False, timeout=300, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    taken = json.loads((folder / "pip.json").read_text())["install"]
    lines = (folder / "requirements.in").read_text().splitlines()
    asked = [line for line in lines if not line.startswith("#")]
    found = {f"{each['metadata']['name']}=={each['metadata']['version']}" for each in taken}
    assert {each.replace("_", "-") for each in found} == set(asked)
    checked = run("check", "--requirements", "uv.lock", "--format", "json", *MACHINE)
    assert json.loads(checked.stdout)["summary"]["error"] == 0
