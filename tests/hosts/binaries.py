"""What reading the extensions of a recorded machine gave, in the place of the real probe.

The files of a recording hold no machine code: of an extension that lies in the tree, only that is
known, and what ``binaries.json`` of the recording says.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.probes.extensions import find_extensions
from fadoctor.sources.probes.world import absent, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import Facts, World

RECORDED = "/binaries.json"
"""Where the recording's file is laid out: name of a fact -> value, null for Absent."""


def probe(world: World, facts: Mapping[str, Fact]) -> Facts:
    """Return the facts of the binaries probe as they were recorded."""
    names = (spec.name for spec in build_catalogue().values() if spec.provider == "binaries")
    found: Facts = dict.fromkeys(names, absent("recorded: nobody has read it"))
    for extension in find_extensions(world, facts):
        if not isinstance(extension, Unknown) and extension.path:
            source = world.name(extension.path)
            found[f"{extension.prefix}.file"] = known(source, source)
    recorded = json.loads(world.read(RECORDED) or "{}")
    for name, value in recorded.items():
        assert name in found, f"no fact of the probe: {name}"
        held = tuple(value) if isinstance(value, list) else value
        found[name] = absent("recorded") if value is None else Known(held, "recorded")
    return found
