"""Whose GPU and whose torch an environment has: one answer for notes, advice and fixes."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.fact import Absent
from fadoctor.repair.plan.search.problem import has_amd, is_on_amd
from tests.unit.judging.engine.builders import environment

NVIDIA = {"gpu[0].vendor": "nvidia", "gpu[0].visible": True, "gpu.count": 1}
AMD = {"gpu[0].vendor": "amd", "gpu[0].visible": True, "gpu.count": 1}
NO_CUDA = {"torch.cuda": Absent("test")}


@pytest.mark.parametrize(
    ("facts", "gpu", "either"),
    [
        (AMD, True, True),
        ({"torch.build": "rocm"}, False, True),
        ({"torch.hip": "6.4"}, False, True),
        ({"torch.build": "cuda"}, False, False),
        ({**NVIDIA, "torch.build": "cuda"}, False, False),
        ({**NVIDIA, **NO_CUDA, "torch.build": "rocm", "torch.hip": "6.4"}, False, False),
        ({}, False, False),
    ],
)
def test_gpu_or_torch_are_amds(facts: dict[str, Any], *, gpu: bool, either: bool) -> None:
    """A torch was AMD's for a note by its label alone, and for a fix by its HIP alone."""
    there = environment(facts)
    assert (has_amd(there), is_on_amd(there)) == (gpu, either)
