"""The GPU that configurations ask a cluster for, where none is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError
from fadoctor.sources.targets.gpu_name import find_gpu

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.rule import Table
    from fadoctor.sources.configs.intent import AskedGpu


def one_gpu(
    asked: Iterable[AskedGpu], tables: Mapping[str, Table], *, has_cpu_torch: bool
) -> tuple[str, str]:
    """Return the one GPU that files ask for, and a note on it; "" where it is none, or several.

    `has_cpu_torch`: the environment here has a torch for the CPU, which says nothing of a cloud.
    """
    asked = tuple(asked)
    models = {_model(each.name, tables) for each in asked}
    is_elsewhere = not all(each.has_environment for each in asked)
    if len(models) != 1 or "" in models or (has_cpu_torch and is_elsewhere):
        return "", ""
    [model] = models
    return model, f"{asked[0].place} asks for {model}; --gpu assumes another GPU."


def _model(name: str, tables: Mapping[str, Table]) -> str:
    """Return a GPU's name as tables have it; "" of a partition, a TPU and the like."""
    try:
        return find_gpu(name, tables).name
    except UsageError:
        return ""
