"""What packages require on a platform, or by a Python, that is assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.probes.package_facts import requires_facts
from fadoctor.sources.probes.packages import probe
from fadoctor.sources.probes.requires import marker_target

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.sources.probes.world import World

_REQUIRES = ".requires"
_LINES = "requires_lines"
_NOT_SAVED = (
    "The saved facts do not contain the conditions of requirements: they were decided for "
    "the platform and the Python that were read."
)


def with_assumed_markers(environment: Environment, world: World) -> Environment:
    """Return the environment with the markers of all metadata decided for what its facts say now.

    The metadata was read before anything was assumed: ``platform_machine == "x86_64"`` was asked of
    the machine that reads, not of the one that is meant.
    """
    found = probe(world, dict(environment.facts))
    again = {name: fact for name, fact in found.items() if name.endswith(_REQUIRES)}
    return msgspec.structs.replace(environment, facts=environment.facts | again)


def with_saved_markers(environment: Environment) -> Environment:
    """Return the same of saved facts, which hold the lines whose conditions are to be decided."""
    facts, changed = environment.facts, {}
    target = marker_target(facts)
    askers = (*PACKAGES, *environment.requirers())
    for asker in askers:
        lines = facts.get(f"{asker}.{_LINES}")
        if isinstance(lines, Known) and isinstance(lines.value, tuple):
            found = requires_facts(list(map(str, lines.value)), target, lines.source)
            changed[f"{asker}{_REQUIRES}"] = found["requires"]
    asked = [facts.get(f"{asker}{_REQUIRES}") for asker in askers]
    if any(isinstance(fact, Known) and fact.value for fact in asked) and not any(
        f"{asker}.{_LINES}" in facts for asker in askers
    ):
        notes = (*environment.target.notes, _NOT_SAVED)
        target_ = msgspec.structs.replace(environment.target, notes=notes)
        return msgspec.structs.replace(environment, target=target_)
    return msgspec.structs.replace(environment, facts=facts | changed)
