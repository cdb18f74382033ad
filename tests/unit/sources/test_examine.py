"""What the command line names, as probes see it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment
from fadoctor.model.errors import TargetError
from fadoctor.model.fact import Absent, Known
from fadoctor.model.overlays import Overlays
from fadoctor.sources.examine.examination import Examination
from fadoctor.sources.examine.request import Request
from fadoctor.sources.probes import collect

if TYPE_CHECKING:
    from fadoctor.sources.probes.world import World


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


def test_where_no_environment_is_one_may_be_planned_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: object) -> None:
        raise TargetError("no environment to examine")

    monkeypatch.setattr("fadoctor.sources.targets.discover.discover", none)
    with pytest.raises(TargetError):
        Examination(Request(), {}).environment(load_knowledge())
    overlays = Overlays(gpu=("H100",), driver="580.65.06")
    for request in (
        Request(overlays=overlays, new=True),
        Request(overlays=overlays, new_if_none=True),
    ):
        found = Examination(request, {}).environment(load_knowledge())
        assert (found.target.kind, found.target.label) == ("manifest", "a new environment")
        assert found.target.reason == "no environment is here"
        assert not request.is_real
        assert isinstance(found.fact("torch.version"), Absent)
        # our own Python, where none is here
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        assert f"--python-version {own}" in found.overlays


def test_a_text_is_read_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are none, as in a browser, saved facts and texts are judged all the same."""

    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refused)
    request = Request(facts="the text", text=b"torch 2.6.0+cu124\nGPU: RTX 3090\n")
    found = Examination(request, {}).environment(load_knowledge())
    assert found.fact("gpu[0].name") == Known("RTX 3090", found.fact("gpu[0].name").source)
