"""What the files have in common: their opening lines, quoting, and what they cannot say."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.model.recipe import Recipe

NAME = "attention"
"""How projects and environments in the files are called."""


def file_of(recipe: Recipe, name: str, lines: Callable[[Recipe], Iterable[str]]) -> str:
    """Return a file: comments, then its lines, which are left out where there is no plan.

    The comments say what it is, and how to check it for the machine that it was made for.
    """
    opening = [f"# {printable(text, 1_000)}" for text in recipe.comments]
    if not recipe.ingredients:
        return "\n".join(opening) + "\n"
    words = ("fadoctor", "check", "--requirements", name, *recipe.check)
    opening.append(f"# check it: {printable(shlex.join(words), 1_000)}")
    return "\n".join([*opening, *lines(recipe)]) + "\n"


def index_options(recipe: Recipe) -> list[str]:
    """Return the options by which pip is told of the indexes."""
    return [word for index in recipe.indexes for word in ("--extra-index-url", index)]


def quoted(text: str) -> str:
    """Return a string as TOML, YAML and JSON write it."""
    return json.dumps(printable(text, 4_000), ensure_ascii=False)


def require_python(recipe: Recipe, form: str) -> str:
    """Return the Python, X.Y; UsageError where nobody knows it."""
    if not recipe.python:
        raise UsageError(f"--format {form} names the Python: give --python-version X.Y")
    return recipe.python


def refuse_builds(recipe: Recipe, form: str, *, sources: bool = False) -> None:
    """Raise UsageError where something is compiled, which the file has no way to say.

    `sources`: whether it can say that sources without a compiled part are installed.
    """
    refused = [each for each in recipe.built if not (sources and each.is_interpreted)]
    if refused:
        names = ", ".join(each.name for each in refused)
        raise UsageError(
            f"{names} would have to be compiled, which --format {form} cannot say: uv and pixi can"
        )


def named(recipe: Recipe, form: str, platforms: Mapping[str, str]) -> str:
    """Return how a tool calls the platform; UsageError where it has no name for it."""
    found = platforms.get(recipe.platform)
    if found is None:
        what = recipe.platform or "an unknown platform"
        raise UsageError(f"--format {form} is not for {what}: give --platform linux_x86_64")
    return found


def index_names(recipe: Recipe) -> dict[str, str]:
    """Return a name for each index: the last part of its address."""
    found = {}
    for number, index in enumerate(recipe.indexes):
        last = index.rstrip("/").rpartition("/")[2]
        found[index] = f"pytorch-{last}" if last.isalnum() else f"index-{number}"
    return found
