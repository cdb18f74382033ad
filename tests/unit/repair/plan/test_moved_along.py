"""What a release that comes asks of packages that nobody decides about."""

from __future__ import annotations

import msgspec

from fadoctor.model.fact import Known
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, session, with_package
from tests.unit.repair.plan.test_planner import changed

H100 = ("NVIDIA H100 80GB HBM3", "9.0", "570.86.15")
RTX_5090 = ("NVIDIA GeForce RTX 5090", "12.0", "580.65.06")
K80 = ("Tesla K80", "3.7", "470.256.02")


def test_what_the_coming_release_refuses_moves_by_name() -> None:
    """pip took tokenizers back, which the command did not name."""
    found = with_package(start("vLLM", H100), "transformers", "5.22.2", {"tokenizers": ""})
    installed = dict(found.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    installed |= {"tokenizers": "0.23.3", "huggingface-hub": "2.1.1"}
    facts = {**found.facts, "packages.installed": Known(installed, "test")}
    found = derive(msgspec.structs.replace(found, facts=facts), session().matrix)
    after = changed(plan(found, want=("transformers<5",)))
    assert after["transformers"].startswith("4.")
    assert after["tokenizers"] == "0.22.2"


def test_torch_does_not_move_away_from_what_an_extra_pins() -> None:
    there = start("torch 2.6 with vision and audio", RTX_5090)
    there = with_package(there, "sglang", "0.4.6.post5", {"requests": ""})
    alone = changed(plan(there))
    assert "sglang" not in alone
    pinned = changed(plan(there, requirements={"sglang": {"torch": "==2.6.0"}}))
    needs = session().candidates.helpers.needs("sglang", pinned["sglang"])
    assert needs["torch"] == f"=={pinned['torch']}"


def test_a_driver_that_ends_the_gpu_is_no_advice() -> None:
    """A driver of branch 525 was, for triton: it no longer supports a K80."""
    facts = {"triton.distribution": Known("triton", "test")}
    there = start("torch 2.6 with vision and audio", K80)
    found = plan(msgspec.structs.replace(there, facts={**there.facts, **facts}))
    assert found.actions
    assert not any("525" in action.text for action in found.actions)
