"""The facts as far as they follow from a part of the choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.packages import package_of
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.environment import Environment


def without(environment: Environment, packages: Collection[str]) -> Environment:
    """Return the environment as if nobody knew of some packages whether they are there."""
    if not packages:
        return environment
    facts = dict(environment.facts)
    for package in packages:
        for noun in ("version", "requires"):
            facts.pop(f"{package}.{noun}", None)
    for name in ("packages.installed", NAMED):
        fact = facts.get(name)
        if isinstance(fact, Known) and isinstance(fact.value, dict):
            left = {n: v for n, v in fact.value.items() if package_of(n, n) not in packages}
            facts[name] = Known(left, fact.source)
    return msgspec.structs.replace(environment, facts=facts)
