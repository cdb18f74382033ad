"""A recipe as the pyproject.toml of a project that uv locks and installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.report.recipes.parts import (
    NAME,
    file_of,
    index_names,
    named,
    quoted,
    require_python,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.recipe import Recipe

_PLATFORMS = {
    "linux_x86_64": "sys_platform == 'linux' and platform_machine == 'x86_64'",
    "linux_aarch64": "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "win_amd64": "sys_platform == 'win32' and platform_machine == 'AMD64'",
    "macosx_arm64": "sys_platform == 'darwin' and platform_machine == 'arm64'",
}


def render(recipe: Recipe) -> str:
    """Return the file."""
    return file_of(recipe, "pyproject.toml", _lines)


def _lines(recipe: Recipe) -> Iterator[str]:
    for name, value in recipe.variables.items():
        yield printable(f"# set {name}={value}", 1_000)
    yield "[project]"
    yield f"name = {quoted(NAME)}"
    yield 'version = "0"'
    yield f'requires-python = "=={require_python(recipe, "uv")}.*"'
    yield "dependencies = ["
    yield from (f"  {quoted(each.requirement)}," for each in recipe.ingredients)
    yield "]"
    yield ""
    yield "[tool.uv]"
    yield f"environments = [{quoted(named(recipe, 'uv', _PLATFORMS))}]"
    if recipe.built:
        names = ", ".join(quoted(each.name) for each in recipe.built)
        yield f"no-build-isolation-package = [{names}]"
    names_of = index_names(recipe)
    for url, name in names_of.items():
        yield from ("", "[[tool.uv.index]]", f"name = {quoted(name)}")
        yield from (f"url = {quoted(url)}", "explicit = true")
    if names_of:
        yield from ("", "[tool.uv.sources]")
    for each in recipe.ingredients:
        if each.index:
            yield f"{each.name} = {{ index = {quoted(names_of[each.index])} }}"
