"""Facts that follow from other facts and the matrix, where no probe could read them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.targets.gpu_name import find_gpu

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Table


def derive(environment: Environment, tables: Mapping[str, Table]) -> Environment:
    """Return the environment with compute capabilities that the driver did not tell, by name."""
    derived: dict[str, Fact] = {}
    for name, fact in environment.facts.items():
        if not (isinstance(fact, Unknown) and name.endswith(".compute_capability")):
            continue
        model = environment.facts.get(f"{name.partition('.')[0]}.name")
        if isinstance(model, Known):
            with suppress(UsageError):  # not a name of the table
                found = find_gpu(str(model.value), tables)
                if found.compute_capability:
                    derived[name] = Known(found.compute_capability, f"by the name {model.value}")
    if not derived:
        return environment
    return msgspec.structs.replace(environment, facts={**environment.facts, **derived})
