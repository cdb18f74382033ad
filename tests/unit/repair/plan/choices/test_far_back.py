"""A wish takes no torch that works back by years."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.model.fact import Known
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan

V100 = ("Tesla V100-SXM2-16GB", "7.0", "470.82.01")
CU118 = {"torch.version": "2.6.0+cu118", "torch.build": "cu118", "torch.cuda": "11.8"}


@pytest.mark.parametrize(("want", "goes_back"), [("vllm", False), ("vllm<0.3", True)])
def test_a_wish_takes_no_torch_that_works_back_by_years(want: str, *, goes_back: bool) -> None:
    """The vLLM of 2023 came with torch 2.0.1, as the driver runs no CUDA of later ones."""
    there = start("torch 2.6 with vision and audio", V100, "3.10")
    told = {name: Known(value, "test") for name, value in CU118.items()}
    found = plan(msgspec.structs.replace(there, facts={**there.facts, **told}), want=(want,))
    torch = [c.after for c in found.changes if c.distribution == "torch"]
    assert any(version.startswith("2.0") for version in torch) == goes_back


def test_a_driver_that_is_too_old_takes_no_torch_back_by_years() -> None:
    """A build of the same torch for CUDA 11 repairs it; vLLM has none, and the driver is named."""
    found = plan(start("torch 2.6 with vision and audio", V100, "3.10"), want=("vllm",))
    after = {change.distribution: change.after for change in found.changes}
    assert after["torch"] == "2.6.0+cu118"
    assert "vllm" not in after
    assert any("NVIDIA driver 525.60.13" in note and V100[2] in note for note in found.notes)
