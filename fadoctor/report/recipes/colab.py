"""A recipe as a notebook for Colab or any Jupyter: cells that install it and check it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from fadoctor.model.fact import printable
from fadoctor.report.json_ import visible
from fadoctor.report.recipes.parts import index_options, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.recipe import Recipe

_LINUX = {"linux_x86_64": "", "linux_aarch64": ""}


def render(recipe: Recipe) -> str:
    """Return the notebook, format 4.5."""
    cells = [
        {**cell, "id": f"fadoctor-{number}", "metadata": {}}
        for number, cell in enumerate(_cells(recipe))
    ]
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}
    return visible(json.dumps(book, indent=1, ensure_ascii=False)) + "\n"


def _cells(recipe: Recipe) -> Iterator[dict[str, Any]]:
    yield _text(*(f"* {printable(text, 1_000)}" for text in recipe.comments))
    if not recipe.ingredients:
        return
    named(recipe, "colab", _LINUX)
    if recipe.python:
        wanted = tuple(int(part) for part in recipe.python.split("."))
        yield _code(
            "import sys",
            f"if sys.version_info[:2] != {wanted}:",
            f'    raise SystemExit("this notebook needs Python {recipe.python}, but runs another:'
            ' plan again with --python-version")',
        )
    # a magic is no shell: braces and dollar signs would be variables, and there are none in names
    words = [*index_options(recipe), *(each.requirement for each in recipe.ready)]
    yield _code(f"%pip install -q {shlex.join(words)}")
    for each in recipe.built:
        settings = [f"%env {name}={value}" for name, value in each.env.items()]
        yield _code(*settings, f"%pip install --no-build-isolation {shlex.quote(each.requirement)}")
    if recipe.variables:
        lines = [f"os.environ[{name!r}] = {value!r}" for name, value in recipe.variables.items()]
        yield _code("import os", *lines)
    yield _text("Restart the session, so that the old torch leaves the memory. Then:")
    yield _text("fadoctor is not on a package index yet: upload its wheel beside this notebook.")
    yield _code(
        "import glob",
        "[wheel] = glob.glob('fadoctor-*.whl')",
        "%pip install -q {wheel}",
        "from fadoctor.api import check",
        "check(smoke=True)",
    )


def _text(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": "\n".join(lines)}


def _code(*lines: str) -> dict[str, Any]:
    source = "\n".join(lines)
    return {"cell_type": "code", "source": source, "outputs": [], "execution_count": None}
