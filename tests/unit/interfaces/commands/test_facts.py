"""One orchestration of `facts`: what is told, and that all who ask read the same."""

from __future__ import annotations

from pathlib import Path

from fadoctor.interfaces.commands import run
from fadoctor.interfaces.commands.facts import facts
from fadoctor.interfaces.commands.request import ProgramRequest
from fadoctor.sources.examine.request import Request
from tests.unit.interfaces.commands.listener import Listener

FACTS = Path(__file__).parents[3] / "golden" / "linux-v100-torch210" / "facts.json"


def test_an_observer_hears_that_it_is_read() -> None:
    listener = Listener()
    found = facts(Request(facts=str(FACTS)), observer=listener)
    assert "torch.version" in found.facts
    assert listener.told == ["reading the environment", "end of reading the environment"]


def test_programs_read_the_same() -> None:
    found = facts(Request(facts=str(FACTS)))
    program = run.facts(ProgramRequest(facts=str(FACTS)), thorough=False, cache=False, rules=())
    assert program.facts == found.facts
