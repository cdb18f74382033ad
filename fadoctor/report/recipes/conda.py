"""A recipe as an environment.yml: Python by conda, the rest by pip inside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.report.recipes.parts import NAME, file_of, quoted, refuse_builds, require_python

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.recipe import Recipe


def render(recipe: Recipe) -> str:
    """Return the file; UsageError where something is compiled."""
    return file_of(recipe, "environment.yml", _lines)


def _lines(recipe: Recipe) -> Iterator[str]:
    refuse_builds(recipe, "conda")
    yield from (f"name: {NAME}", "channels:", "  - conda-forge", "dependencies:")
    yield f"  - python={require_python(recipe, 'conda')}"
    yield from ("  - pip", "  - pip:")
    yield from (f"      - --extra-index-url {index}" for index in recipe.indexes)
    yield from (f"      - {quoted(each.requirement)}" for each in recipe.ingredients)
    if recipe.variables:
        yield "variables:"
        yield from (f"  {name}: {quoted(value)}" for name, value in recipe.variables.items())
