"""What a text shows by its words alone is told by a plan, too."""

from __future__ import annotations

from fadoctor.judging.explain.pasted_complaints import complaints_in
from fadoctor.model.plan import Plan, PlanOutcome
from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, session

LIST = """Python 3.11.13 on Linux {machine}, {gpu}, driver 580.95.05
$ pip list
Package            Version
------------------ ------------
sgl-kernel         0.3.21
sglang             0.5.9
torch              2.9.1+cu129
transformers       4.57.1
"""
ERROR = "RuntimeError: RMSNorm failed with error code no kernel image is available for execution\n"


def planned_for(text: str) -> Plan:
    knowledge = session().knowledge
    complaints = complaints_in(text.encode(), "paste", knowledge)
    return plan(read_text(text.encode(), "paste", knowledge, complaints))


def test_what_no_fact_decides_is_for_a_person() -> None:
    """`check` named the file with code for this GPU; `fix` said that nothing is wrong."""
    found = planned_for(LIST.format(machine="aarch64", gpu="NVIDIA GB10") + ERROR)
    assert found.outcome is PlanOutcome.PARTIAL
    assert found.proof.errors == ("kernel-image-missing-ext",)
    assert any("sgl-kernel==0.3.21" in action.text for action in found.actions)


def test_a_list_alone_shows_nothing() -> None:
    found = planned_for(LIST.format(machine="aarch64", gpu="NVIDIA GB10"))
    assert found.outcome is PlanOutcome.NOTHING
