"""What every installed distribution requires, from all metadata: `fix` alone asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.processes.run import run
from fadoctor.sources.probes.distributions import find_distributions
from fadoctor.sources.probes.import_path import read_import_path
from fadoctor.sources.probes.requires import marker_target, read_requirements
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Target
    from fadoctor.model.fact import Fact


class _Everything:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def read_all_requirements(
    target: Target, environ: Mapping[str, str], facts: Mapping[str, Fact]
) -> dict[str, dict[str, str]]:
    """Return distribution -> what it requires -> specifier.

    Distributions whose markers cannot be decided are left out. Nothing is run.
    """
    world = World(target, environ, run, "")
    survey = find_distributions(read_import_path(world), _Everything())
    markers = marker_target(facts)
    found = {}
    for name, records in sorted(survey.chosen.items()):
        needs = read_requirements(records[0].headers.all("requires-dist"), markers)
        if not needs.undecided:
            found[name] = needs.specifiers
    return found
