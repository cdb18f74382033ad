"""The facts as they would be once variables of the environment are set or unset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.repair.plan.states.compiled import AFTER, without_variables
from fadoctor.sources.targets.rocm import OVERRIDE, taken_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment


def with_variables(environment: Environment, values: Mapping[str, str]) -> Environment:
    """Return the environment with variables of these values, "" for one that is unset."""
    changed: dict[str, Fact] = {
        f"env.{name}": Known(value, AFTER) if value else Absent(f"{AFTER}: unset")
        for name, value in values.items()
    }
    facts = {**environment.facts, **changed}
    facts |= without_variables(facts, frozenset(values))
    found = msgspec.structs.replace(environment, facts=facts)
    if OVERRIDE not in values:
        return found
    return msgspec.structs.replace(found, facts={**facts, **taken_for(found)})
