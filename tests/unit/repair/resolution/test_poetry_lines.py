"""What poetry is told in place of a changed line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands.fix import FixRequest, make_plan
from fadoctor.interfaces.commands.plan import PlanRequest
from fadoctor.interfaces.commands.request import ProgramRequest, request_of
from fadoctor.model.place import Place
from fadoctor.model.plan import Edit
from fadoctor.repair.resolution.poetry_lines import by_poetry, in_one_command, poetry_line

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(
    ("line", "column", "wanted", "new"),
    [
        ('vllm = "0.9.2"', 8, "vllm==0.11.0", 'vllm = "0.11.0"'),
        ("vllm = '^0.9'  # serves", 8, "vllm==0.11.0", 'vllm = "0.11.0"  # serves'),
        ('x = { version = "1.0", extras = ["a"] }', 17, "x==2.0",
         'x = { version = "2.0", extras = ["a"] }'),
        ('x = { url = "https://e.org/a.whl" }', 5, "x @ https://e.org/b.whl",
         'x = { url = "https://e.org/b.whl" }'),
        ('x = { url = "https://e.org/a.whl" }', 5, "x==2.0", 'x = { version = "2.0" }'),
        ('x = "1.0"', 5, "x @ https://e.org/b.whl", 'x = { url = "https://e.org/b.whl" }'),
        ('x = { version = "1.0" }', 17, "x @ https://e.org/b.whl", None),
        ('x = { git = "https://e.org/x" }', 5, "x==2.0", None),
        ('x = "1.0"', 5, "x>=2", None),
        ('x = "1.0"', 5, "", None),
    ],
)  # fmt: skip
def test_a_table_of_poetry_asks_for_another_release(
    line: str, column: int, wanted: str, new: str | None
) -> None:
    place = Place("pyproject.toml", 2, column)
    assert poetry_line([MAIN, line], place, column, wanted) == new
    assert poetry_line(["[tool.other]", line], place, column, wanted) is None


PROJECT = """\
[tool.poetry]
name = "served"
version = "1"

[tool.poetry.dependencies]
python = ">=3.12,<3.13"
torch = { version = "2.6.0", source = "wheels" }
vllm = "0.8.5"

[[tool.poetry.source]]
name = "wheels"
url = "https://download.pytorch.org/whl/cu124"
priority = "explicit"

[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
"""


def test_what_moves_with_a_torch_of_a_source_is_written_with_it(tmp_path: Path) -> None:
    """Regression: half was a command that what stood in the file refused, the rest not written."""
    file = tmp_path / "pyproject.toml"
    file.write_text(PROJECT)
    what = ProgramRequest(requirements=file, gpu="B200", driver="575.57.08", python_version="3.12")
    plan = make_plan(FixRequest(request_of(what, cache=True), PlanRequest())).plan
    assert plan.proof.errors == ()
    [diff] = [edit.diff for edit in plan.edits if edit.diff]
    assert '-vllm = "0.8.5"' in diff
    assert "/whl/cu128" in diff
    assert not any(edit.command for edit in plan.edits)
