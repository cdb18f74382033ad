"""What poetry is told in place of a changed line."""

from __future__ import annotations

import pytest

from fadoctor.model.place import Place
from fadoctor.model.plan import Edit
from fadoctor.repair.resolution.poetry_lines import by_poetry, in_one_command

CU126 = "https://download.pytorch.org/whl/cu126"
MAIN = "[tool.poetry.dependencies]"


@pytest.mark.parametrize(
    ("header", "wanted", "index", "commands"),
    [
        (MAIN, "torch==2.11.0", "", ["poetry add torch==2.11.0"]),
        (
            MAIN,
            "torch==2.11.0+cu126",
            CU126,
            [
                f"poetry source add --priority explicit pytorch-cu126 {CU126}",
                "poetry add --source pytorch-cu126 torch==2.11.0+cu126",
            ],
        ),
        (
            "[tool.poetry.group.train.dependencies]",
            "torch==2.11.0",
            CU126,
            ["poetry add --group train torch==2.11.0"],
        ),
        (MAIN, "flash-attn @ https://example.org/x.whl", "", []),
        (MAIN, "", "", []),
        ("[tool.pdm.dev-dependencies]", "torch==2.11.0", "", []),
    ],
)
def test_what_poetry_is_told(header: str, wanted: str, index: str, commands: list[str]) -> None:
    """Regression: a build was asked for, and nothing said which index it comes from."""
    lines = ["[build-system]", header, 'python = "^3.11"', 'torch = "2.10.0"']
    found = by_poetry(lines, Place("pyproject.toml", 4, 1), wanted, index)
    assert [" ".join(each.command) for each in found] == commands


def test_what_poetry_is_asked_in_one_way_is_one_command() -> None:
    """Regression: torchvision's pin of the old torch refused the new one, asked for alone."""
    source = ("poetry", "source", "add", "a", "https://x")
    asked = [("poetry", "add", "torch==2"), ("poetry", "add", "torchvision==1")]
    edits = [Edit("p", command=each, text=str(at)) for at, each in enumerate([source, asked[0]])]
    edits += [Edit("p", command=source, text="other"), Edit("p", command=asked[1])]
    edits += [Edit("p", text="by hand"), Edit("p", text="by hand, too")]
    found = in_one_command(edits)
    commands = [source, ("poetry", "add", "torch==2", "torchvision==1"), (), ()]
    assert [each.command for each in found] == commands
