"""A recipe as a pixi.toml: Python from conda-forge, the rest from PyPI and torch's indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.report.recipes.parts import NAME, file_of, named, quoted, require_python

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.recipe import Ingredient, Recipe

_PLATFORMS = {
    "linux_x86_64": "linux-64",
    "linux_aarch64": "linux-aarch64",
    "win_amd64": "win-64",
    "macosx_arm64": "osx-arm64",
}


def render(recipe: Recipe) -> str:
    """Return the file."""
    return file_of(recipe, "pixi.toml", _lines)


def _lines(recipe: Recipe) -> Iterator[str]:
    yield "[workspace]"
    yield f"name = {quoted(NAME)}"
    yield 'channels = ["conda-forge"]'
    yield f"platforms = [{quoted(named(recipe, 'pixi', _PLATFORMS))}]"
    if recipe.glibc and recipe.platform.startswith("linux"):
        yield from ("", "[system-requirements]")
        yield f'libc = {{ family = "glibc", version = {quoted(recipe.glibc)} }}'
    yield from ("", "[dependencies]")
    yield f'python = "{require_python(recipe, "pixi")}.*"'
    if recipe.built:
        names = ", ".join(quoted(each.name) for each in recipe.built)
        yield from ("", "[pypi-options]", f"no-build-isolation = [{names}]")
    yield from ("", "[pypi-dependencies]")
    yield from (f"{each.name} = {_value(each)}" for each in recipe.ingredients)
    if recipe.variables:
        yield from ("", "[activation.env]")
        yield from (f"{name} = {quoted(value)}" for name, value in recipe.variables.items())


def _value(each: Ingredient) -> str:
    """Return the inline table, or the version, that pixi wants of a package."""
    address = each.requirement.partition(" @ ")[2]
    if address:
        return f"{{ url = {quoted(address)} }}"
    version = quoted(each.requirement.removeprefix(each.name).strip() or "*")
    return f"{{ version = {version}, index = {quoted(each.index)} }}" if each.index else version
