"""What packages require on a platform, or by a Python, that is assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.probes.packages import probe

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.probes.world import World

_REQUIRES = ".requires"


def with_assumed_markers(environment: Environment, world: World) -> Environment:
    """Return the environment with the markers of all metadata decided for what its facts say now.

    The metadata was read before anything was assumed: ``platform_machine == "x86_64"`` was asked of
    the machine that reads, not of the one that is meant.
    """
    found = probe(world, dict(environment.facts))
    again = {name: fact for name, fact in found.items() if name.endswith(_REQUIRES)}
    return msgspec.structs.replace(environment, facts=environment.facts | again)
