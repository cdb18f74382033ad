"""What the help says of options fits the command that has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from fadoctor.interfaces.cli.app import build
from fadoctor.interfaces.cli.forms import ENDINGS
from fadoctor.interfaces.cli.rules import SchemaName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Run

SCHEMAS = Path(__file__).parents[2] / "rules" / "schema"


def commands(command: Any, name: str = "") -> Iterator[Any]:
    """Yield a command with all that are below it, as (name, command)."""
    for each, below in sorted(getattr(command, "commands", {}).items()):
        yield from commands(below, f"{name} {each}".strip())
    if not hasattr(command, "commands"):
        yield pytest.param(command, id=name)


COMMANDS = list(commands(get_command(build())))


def options(command: Any) -> dict[str, Any]:
    return {each.opts[0]: each for each in command.params}


@pytest.mark.parametrize("command", COMMANDS)
def test_endings_that_output_names_are_forms_of_the_command(command: Any) -> None:
    """The help of `fix` and `fleet` named .sarif, which they do not write."""
    found = options(command)
    if "--format" in found:
        said = found["--output"].help
        forms = {ENDINGS[ending].value for ending in re.findall(r"\.[a-z]+(?=[ ,])", said)}
        choices = {getattr(each, "value", each) for each in found["--format"].type.choices}
        assert forms <= choices


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_has_a_name(command: Any) -> None:
    """The page of commands called the first argument of `hook` None."""
    assert all(each.metavar for each in command.params if each.param_type_name == "argument")
    assert all(each.help for each in command.params)


def test_verbose_promises_a_table_only_where_there_is_one() -> None:
    with_table = [
        each.id
        for each in COMMANDS
        for (command,) in [each.values]
        if "--verbose" in options(command) and "table" in options(command)["--verbose"].help
    ]
    assert with_table == ["check"]


def test_every_schema_of_the_repository_can_be_printed() -> None:
    files = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")}
    assert files == {name.value for name in SchemaName}


@pytest.mark.long
def test_a_wrong_wish_is_told_all_that_can_be_wished_for(run: Run) -> None:
    """It named packages alone, though the help has hub-fa2."""
    said = run("fix", "--dry-run", "--want", "no-such-thing").stderr
    assert "flash-attn, " in said
    assert ", hub-fa2" in said
    assert "hub-fa2" not in run("fix", "--dry-run", "--keep", "no-such-thing").stderr


def test_a_format_that_is_typed_as_an_option_is_understood(run: Run) -> None:
    """It was "Possible options: --smoke"."""
    result = run("check", "--json")
    assert result.returncode == 2
    assert "No such option: --json (Possible options: --format json)" in result.stderr
