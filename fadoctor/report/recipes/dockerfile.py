"""A recipe as a Dockerfile."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.report.recipes.parts import (
    file_of,
    index_options,
    named,
    refuse_builds,
    require_python,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.recipe import Recipe

_FOR_NVIDIA = "# docker run --gpus all: the host has the driver, torch installs CUDA's libraries"
_FOR_AMD = (
    "# docker run --device=/dev/kfd --device=/dev/dri --group-add video: the host has the driver, "
    "torch installs ROCm's libraries"
)
_PLATFORMS = {"linux_x86_64": "linux/amd64", "linux_aarch64": "linux/arm64"}


def render(recipe: Recipe) -> str:
    """Return the file; UsageError where no image is known that could build it."""
    return file_of(recipe, "Dockerfile", _lines)


def _lines(recipe: Recipe) -> Iterator[str]:
    refuse_builds(recipe, "dockerfile", sources=True)
    platform = named(recipe, "dockerfile", _PLATFORMS)
    python = require_python(recipe, "dockerfile")
    if not recipe.image:
        raise UsageError(f"no container image with Python {python} is known: choose another Python")
    yield _FOR_AMD if any("rocm" in index for index in recipe.indexes) else _FOR_NVIDIA
    yield f"FROM --platform={platform} {recipe.image}"
    words = ["python", "-m", "pip", "install", "--no-cache-dir", *index_options(recipe)]
    items = [shlex.quote(printable(each.requirement, 4_000)) for each in recipe.ready]
    yield " \\\n    ".join([f"RUN {shlex.join(words)}", *items])
    for each in recipe.built:
        said = "".join(f"{name}={shlex.quote(value)} " for name, value in each.env.items())
        item = shlex.quote(printable(each.requirement, 4_000))
        yield f"RUN {said}python -m pip install --no-cache-dir --no-build-isolation {item}"
    for name, value in recipe.variables.items():
        yield f"ENV {name}={shlex.quote(printable(value, 1_000))}"
