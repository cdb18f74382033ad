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


MAIN = {"torch": [((), "==2.8.0")]}


@pytest.mark.parametrize(
    ("tool", "lists"),
    [
        (
            "uv-project",
            {
                **MAIN,
                "both": [((), ">=1"), (("--optional", "train"), "")],
                "peft": [(("--optional", "train"), "==0.17.0")],
                "trl": [(("--group", "dev"), ">=1")],
                "ruff": [(("--group", "lint"), "")],
                "einops": [(("--dev",), "")],
            },
        ),
        (
            "poetry",
            {
                **MAIN,
                "both": [((), ">=1"), (("--optional", "train"), "")],
                "numpy": [((), ""), (("--group", "notebook"), "")],
                "peft": [(("--optional", "train"), "==0.17.0")],
                "trl": [(("--group", "dev"), ">=1")],
                "ruff": [(("--group", "lint"), "")],
                "jupyter-lab": [(("--group", "notebook"), "")],
            },
        ),
        (
            "pdm",
            {
                **MAIN,
                "both": [((), ">=1"), (("--group", "train"), "")],
                "peft": [(("--group", "train"), "==0.17.0")],
                "trl": [(("--dev", "--group", "dev"), ">=1")],
                "ruff": [(("--dev", "--group", "lint"), "")],
                "pytest": [(("--dev", "--group", "test"), "")],
            },
        ),
        ("pixi", {}),
        ("", {}),
    ],
)
def test_every_list_of_a_package(
    tmp_path: Path, tool: str, lists: dict[str, list[tuple[tuple[str, ...], str]]]
) -> None:
    """What the dependencies have comes first; a table of another tool says nothing."""
    (tmp_path / "pyproject.toml").write_text(TEXT)
    found = project_lists(tmp_path, tool)
    assert {n: [(e.options, e.specifier) for e in each] for n, each in found.items()} == lists


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
