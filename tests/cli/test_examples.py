"""The examples of each help run as they stand, in a folder where somebody works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.main import get_command

from fadoctor.interfaces.cli.app import build
from fadoctor.interfaces.cli.examples import EXAMPLES
from tests.cli.project import make_project, run_line

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

LINES = [line for lines in EXAMPLES.values() for line in lines]
_ELSEWHERE = ("fadoctor rules update", "fadoctor mcp")
"""Tried in tests/cli/test_rules_update.py and tests/cli/test_mcp.py, which have what they need."""
CHOICES = 20
"""Characters of choices that the column of 80 has room for."""

_RUN_SOMETHING = ("fadoctor run", "fadoctor trace", "fadoctor smoke --")
"""They start an interpreter, or several: seconds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with an environment, files and a log."""
    return make_project(tmp_path_factory.mktemp("project"))


def lines(*, slow: bool) -> list[str]:
    found = [line for line in LINES if not line.startswith(_ELSEWHERE)]
    return [line for line in found if line.startswith(_RUN_SOMETHING) is slow]


@pytest.mark.long
@pytest.mark.parametrize("line", lines(slow=False))
def test_an_example_runs(line: str, folder: Path) -> None:
    run_line(line, folder)


@pytest.mark.long
@pytest.mark.parametrize("line", lines(slow=True))
def test_an_example_that_starts_something_runs(line: str, folder: Path) -> None:
    run_line(line, folder)


def test_every_command_has_examples_and_its_help_shows_them(run: Run) -> None:
    named = set(EXAMPLES)
    root = get_command(build())
    groups = {name for name, each in root.commands.items() if hasattr(each, "commands")}  # type: ignore[attr-defined]  # a group
    parts = {f"{g} {n}" for g in groups for n in root.commands[g].commands}  # type: ignore[attr-defined]  # a group
    assert named == {*root.commands} - groups | parts  # type: ignore[attr-defined]  # a group
    for name in ("check", "rules show"):
        text = run(*name.split(), "--help", env={"COLUMNS": "100"}).stdout
        assert all(line in text for line in EXAMPLES[name])


@pytest.mark.parametrize("columns", [80])
def test_an_example_fits_a_terminal(columns: int) -> None:
    assert [line for line in LINES if len(line) > columns - 2] == []


def test_no_list_of_choices_is_cut_in_a_narrow_window() -> None:
    """It was "<error|warning|note|neve" and "r>" on the next line."""
    groups = [get_command(build())]
    long: list[str] = []
    for group in groups:
        for name, each in group.commands.items():  # type: ignore[attr-defined]  # a group
            if hasattr(each, "commands"):
                groups.append(each)
                continue
            options = (one for one in each.params if one.param_type_name == "option")
            choices = {o.name: getattr(o.type, "choices", ()) for o in options if not o.metavar}
            long += [
                f"{name} {o}" for o, words in choices.items() if len("|".join(words)) > CHOICES
            ]
    assert long == []
