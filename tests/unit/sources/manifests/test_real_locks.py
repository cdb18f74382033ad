"""Locks that their tools really made, held against what the same tools export of them.

The locks are as pdm 2.26.6 and uv 0.13.9 wrote them, without the lists of files and with another
index; `exported.json` has what `pdm export` and `uv export` print for what is chosen, on Linux.
"""

from __future__ import annotations

import json

import msgspec
import pytest

from fadoctor.sources.manifests.chosen import choice_of
from fadoctor.sources.manifests.installed.combine import combine
from fadoctor.sources.manifests.installed.markers import Markers
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.probes.requires import MarkerTarget
from tests.unit.sources.manifests.given import SAMPLES, sample
from tests.unit.sources.manifests.test_chosen import LINUX

EXPORTED: dict[str, dict[str, dict[str, str]]] = json.loads(
    (SAMPLES / "exported.json").read_text(encoding="utf-8")
)
CASES = [(name, chosen) for name, exports in EXPORTED.items() for chosen in exports]
GROUPS = frozenset(("lint", "test"))


@pytest.mark.parametrize(("name", "chosen"), CASES)
def test_a_lock_gives_what_its_tool_exports(name: str, chosen: str) -> None:
    names = set(chosen.split())
    choice = choice_of(names - GROUPS, names & GROUPS)
    manifest = read_source(msgspec.structs.replace(sample(name), choice=choice))
    found = combine([manifest], Markers(MarkerTarget(LINUX), choice)).packages
    assert {key: each.version for key, each in found.items()} == EXPORTED[name][chosen]


def test_the_exports_differ() -> None:
    """What is chosen matters in each of them."""
    for exports in EXPORTED.values():
        assert len({json.dumps(each, sort_keys=True) for each in exports.values()}) == 3
