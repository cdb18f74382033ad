"""Which GPUs have tensor cores: without them nobody trains or serves in half precision."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import typed_cell
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.sources.targets.gpu_name import find_gpu

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment


def tensor_core_facts(environment: Environment, matrix: Matrix) -> dict[str, Fact]:
    """Return the fact for each GPU: by its compute capability, or by its chip."""
    found: dict[str, Fact] = {}
    for gpu in (subject.text for subject in environment.subjects("gpu")):
        capability = environment.fact(f"{gpu}.compute_capability")
        fact = matrix.find("architectures", {"cc": capability}).cell("tensor_cores")
        if isinstance(fact, Unknown) and isinstance(capability, Known):
            fact = _by_name(environment.fact(f"{gpu}.name"), fact, matrix)
        found[f"{gpu}.tensor_cores"] = fact
    return found


def _by_name(name: Fact, otherwise: Fact, matrix: Matrix) -> Fact:
    if not isinstance(name, Known):
        return otherwise
    model = ""
    with suppress(UsageError):
        model = find_gpu(str(name.value), matrix.tables).name
    for row in matrix.tables["gpu-names"].rows:
        plain = typed_cell(row.get("plain"), "list")
        names = typed_cell(row.get("names"), "list")
        if isinstance(names, tuple) and isinstance(plain, tuple) and model in names:
            return Known(model not in plain, f"by the name {name.value}")
    return otherwise
