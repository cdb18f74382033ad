"""What nobody could look into counts against nothing that is installed."""

from __future__ import annotations

import msgspec

from fadoctor.model.fact import Unknown
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, problem
from tests.unit.repair.plan.test_planner import changed

GPU = ("NVIDIA A100-SXM4-80GB", "8.0", "580.65.06")


def test_a_torch_whose_files_were_not_read_is_not_replaced() -> None:
    there = start("vision of another torch", GPU)
    unread = {name: Unknown("not read", "test") for name in there.facts if "torch.binary" in name}
    there = msgspec.structs.replace(there, facts={**there.facts, **unread})
    assert "torch" not in changed(plan(there))


def test_what_was_asked_for_must_be_proved() -> None:
    there = start("torch of another index", GPU)
    asked = problem(there, want=("xformers",))
    assert not {backend.value for backend in asked.wishes.hoped} & {"xformers"}
