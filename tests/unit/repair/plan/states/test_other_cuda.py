"""What is compiled for one CUDA, beside a torch for another."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fadoctor.model.fact import Known
from fadoctor.repair.plan.states.other_cuda import is_for_other_cuda
from tests.unit.repair.plan.problems import golden, problem, with_package


@pytest.mark.parametrize(("vllm", "goes"), [("0.17.0", False), ("0.20.0", True)])
def test_pypis_vllm_stays_beside_a_torch_for_the_cuda_that_its_file_loads(
    vllm: str, *, goes: bool
) -> None:
    """A torch for CUDA 13 was put in beside it: the one for CUDA 12 is what it was made for."""
    thirteen: dict[str, Any] = {"torch__version": "2.10.0+cu130", "torch__cuda": "13.0"}
    here = golden("linux-a100-healthy", torch__build="cu130", **thirteen)
    made = problem(with_package(here, "vllm", vllm, {"torch": "==2.10.0"}))
    twelve = {"torch.version": "2.10.0+cu128", "torch.build": "cu128", "torch.cuda": "12.8"}
    facts = {name: Known(value, "test") for name, value in twelve.items()}
    after = msgspec.structs.replace(made.environment, facts={**made.environment.facts, **facts})
    assert is_for_other_cuda(made, "vllm", after) is goes
