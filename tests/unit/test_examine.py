"""What the command line names, as probes see it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.examine import Examination, Request
from fadoctor.matrix.load import load_knowledge
from fadoctor.model.environment import Environment
from fadoctor.probes import collect

if TYPE_CHECKING:
    from fadoctor.probes.world import World


@pytest.mark.parametrize("thorough", [True, False])
def test_probes_are_told_how_much_to_read(
    monkeypatch: pytest.MonkeyPatch, *, thorough: bool
) -> None:
    worlds = []

    def collected(world: World) -> Environment:
        worlds.append(world)
        return Environment("0", world.target, {})

    monkeypatch.setattr(collect, "collect", collected)
    request = Request(python=sys.executable, thorough=thorough)
    Examination(request, {}).environment(load_knowledge())
    assert [world.thorough for world in worlds] == [thorough]
