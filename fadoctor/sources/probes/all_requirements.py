"""What every installed distribution requires, from all metadata: `fix` alone asks for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.processes.run import run
from fadoctor.sources.probes.distributions import find_distributions
from fadoctor.sources.probes.import_path import read_import_path
from fadoctor.sources.probes.requires import (
    MarkerTarget,
    marker_target,
    read_extras,
    read_requirements,
)
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.environment import Target
    from fadoctor.model.fact import Fact


_PIN = re.compile(r"==[^,*]{1,60}")


class _Everything:
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def read_all_requirements(
    target: Target, environ: Mapping[str, str], facts: Mapping[str, Fact]
) -> dict[str, dict[str, str]]:
    """Return distribution -> what it requires -> specifier.

    Distributions whose markers cannot be decided are left out. What an extra pins counts where all
    of it is there: no metadata say which extras were asked for. Nothing is run.
    """
    world = World(target, environ, run, "")
    survey = find_distributions(read_import_path(world), _Everything())
    markers = marker_target(facts)
    there = {name: records[0].version for name, records in survey.chosen.items()}
    found = {}
    for name, records in sorted(survey.chosen.items()):
        lines = records[0].headers.all("requires-dist")
        needs = read_requirements(lines, markers)
        if not needs.undecided:
            found[name] = {**_pins_in_use(lines, markers, there), **needs.specifiers}
    return found


def _pins_in_use(
    lines: Iterable[str], markers: MarkerTarget, there: Mapping[str, str]
) -> dict[str, str]:
    """Return what is pinned by the extras of which everything is there, in a version they accept.

    sglang before 0.5.3 names its torch in an extra alone.
    """
    found: dict[str, str] = {}
    for needs in read_extras(lines, markers).values():
        if all(_accepts(specifier, there.get(name, "")) for name, specifier in needs.items()):
            found |= {name: each for name, each in needs.items() if _PIN.fullmatch(each)}
    return found


def _accepts(specifier: str, version: str) -> bool:
    allowed, parsed = parse_specifier(specifier or ">=0"), parse_version(version)
    return allowed is not None and parsed is not None and allowed.contains(parsed, prereleases=True)
