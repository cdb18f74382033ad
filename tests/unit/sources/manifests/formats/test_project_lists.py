"""Which list of a project has a package, in the words of its tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.formats.project_lists import project_lists

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
[project]
name = "tuning"
dependencies = ["torch==2.8.0", "Both>=1"]

[project.optional-dependencies]
train = ["PEFT[extra]==0.17.0 ; python_version > '3.9'", "both"]

[dependency-groups]
dev = [{include-group = "lint"}, "trl>=1"]
lint = ["ruff"]

[tool.uv]
dev-dependencies = ["einops"]

[tool.poetry.dependencies]
numpy = "*"

[tool.poetry.group.notebook.dependencies]
Jupyter_Lab = "4.0"
numpy = "2"

[tool.pdm.dev-dependencies]
test = ["pytest"]
"""


@pytest.mark.parametrize(
    ("tool", "lists"),
    [
        (
            "uv-project",
            {
                "peft": ("--optional", "train"),
                "trl": ("--group", "dev"),
                "ruff": ("--group", "lint"),
                "einops": ("--dev",),
            },
        ),
        (
            "poetry",
            {
                "peft": ("--optional", "train"),
                "trl": ("--group", "dev"),
                "ruff": ("--group", "lint"),
                "jupyter-lab": ("--group", "notebook"),
            },
        ),
        (
            "pdm",
            {
                "peft": ("--group", "train"),
                "trl": ("--dev", "--group", "dev"),
                "ruff": ("--dev", "--group", "lint"),
                "pytest": ("--dev", "--group", "test"),
            },
        ),
        ("pixi", {}),
        ("", {}),
    ],
)
def test_groups_and_extras(tmp_path: Path, tool: str, lists: dict[str, tuple[str, ...]]) -> None:
    """What the dependencies have as well is changed there; a table of another tool says nothing."""
    (tmp_path / "pyproject.toml").write_text(TEXT)
    assert project_lists(tmp_path, tool) == lists


@pytest.mark.parametrize(
    "text", ["[project", "[project]\noptional-dependencies = 3\n", "\x00", "[dependency-groups]\n"]
)
def test_what_cannot_be_read_has_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert project_lists(tmp_path, "uv-project") == {}


def test_a_name_that_is_an_option_stays_out(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[dependency-groups]\n"--index=x" = ["peft"]\n')
    assert project_lists(tmp_path, "uv-project") == {}
    assert project_lists(tmp_path / "none", "uv-project") == {}
