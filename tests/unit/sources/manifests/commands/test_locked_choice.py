"""A command that installs a lock chooses extras and groups; what it does not name is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.sources.manifests.test_chosen import PROJECT, UV_LOCK

if TYPE_CHECKING:
    from pathlib import Path


def _installed(folder: Path, command: str, choice: ManifestRequest | None = None) -> set[str]:
    (folder / "uv.lock").write_text(UV_LOCK)
    (folder / "pyproject.toml").write_text(PROJECT)
    docker = folder / "Dockerfile"
    docker.write_text(f"FROM python:3.11\nCOPY . /app\nWORKDIR /app\nRUN {command}\n")
    found = read_manifest(str(docker), choice).requirements
    return {f"{each.name}{each.specifier}" for each in found}


PLAIN = {"iniconfig==2.1.0", "peft==0.15.0", "trl==0.18.0"}


@pytest.mark.parametrize(
    ("command", "installed"),
    [
        ("uv sync", PLAIN),
        ("uv sync --frozen --no-install-project", PLAIN),
        ("uv sync --extra new", PLAIN | {"einops==0.8.1"}),
        ("uv sync --extra=old", PLAIN - {"trl==0.18.0"} | {"einops==0.7.0"}),
        ("uv sync --group test", PLAIN | {"pluggy==1.6.0"}),
    ],
)
def test_uv_installs_what_its_options_name(
    tmp_path: Path, command: str, installed: set[str]
) -> None:
    assert _installed(tmp_path, command) == installed


@pytest.mark.parametrize("command", ["uv sync --all-extras", "uv sync --extra $EXTRA"])
def test_where_only_a_run_would_tell_everything_counts(tmp_path: Path, command: str) -> None:
    every = PLAIN | {"pluggy==1.6.0", "einops==0.7.0", "einops==0.8.1"}
    assert _installed(tmp_path, command) == every


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    asked = ManifestRequest(groups=("test",))
    assert _installed(tmp_path, "uv sync --extra new", asked) == PLAIN | {"pluggy==1.6.0"}


def test_a_note_names_the_line_of_the_command(tmp_path: Path) -> None:
    _installed(tmp_path, "uv sync")
    notes = read_manifest(str(tmp_path / "Dockerfile")).notes
    assert any("Dockerfile:4: " in note and "not chosen" in note for note in notes)
    assert not any(":0:" in note for note in notes)


@pytest.mark.parametrize(
    ("command", "installed"),
    [
        ("poetry install", {"torch"}),
        ("poetry install -E train", {"torch", "flash-attn"}),
        ("poetry install --extras 'train eval'", {"torch", "flash-attn"}),
        ("poetry install --with docs", {"torch", "sphinx"}),
    ],
)
def test_poetry_installs_what_its_options_name(
    tmp_path: Path, command: str, installed: set[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.poetry.dependencies]\npython = "^3.10"\ntorch = "2.7.1"\n'
        'flash-attn = {version = "2.8.0", optional = true}\n'
        '[tool.poetry.extras]\ntrain = ["flash-attn"]\n'
        "[tool.poetry.group.docs]\noptional = true\n"
        '[tool.poetry.group.docs.dependencies]\nsphinx = "*"\n'
    )
    script = tmp_path / "install.sh"
    script.write_text(f"{command}\n")
    assert {each.name for each in read_manifest(str(script)).requirements} == installed


@pytest.mark.parametrize(
    ("command", "installed"),
    [("uv sync", {"torch"}), ("uv sync --extra fast", {"torch", "flash-attn"})],
)
def test_uv_without_a_lock_takes_what_the_project_asks_for(
    tmp_path: Path, command: str, installed: set[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.7.1"]\n'
        '[project.optional-dependencies]\nfast = ["flash-attn==2.8.0"]\n'
        '[tool.uv.sources]\ntorch = {index = "cu128"}\n'
        '[[tool.uv.index]]\nname = "cu128"\nurl = "https://download.pytorch.org/whl/cu128"\n'
    )
    script = tmp_path / "install.sh"
    script.write_text(f"{command}\n")
    found = read_manifest(str(script)).requirements
    assert {each.name for each in found} == installed
    assert {each.index for each in found if each.name == "torch"} == {
        "https://download.pytorch.org/whl/cu128"
    }
