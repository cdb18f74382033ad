"""The torch that a build for the CPU replaced, told by what was published beside it."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.model.fact import Known, Unknown
from fadoctor.repair.plan.choices.lost_torch import (
    LostTorch,
    cuda_of_labels,
    lost_torch,
    minor_of_labels,
)
from fadoctor.repair.plan.choices.text_builds import with_abi_of_build
from tests.unit.repair.plan.problems import golden, session

_CPU: dict[str, object] = {"torch__version": "2.9.1", "torch__build": "cpu", "torch__cuda": None}
LOST = LostTorch("2.10.0", "13.0")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"torchaudio__version": "2.10.0+cu130", "torchvision__version": "0.24.1"}, LOST),
        ({"torchaudio__version": None, "torchvision__version": "0.25.0+cu130"}, LOST),
        # of this release, without a label, in two minds, or with several releases of torch
        ({"torchaudio__version": "2.9.1+cu130", "torchvision__version": None}, None),
        ({"torchaudio__version": "2.10.0", "torchvision__version": None}, None),
        ({"torchaudio__version": "2.10.0+cu130", "torchvision__version": "0.23.0+cu128"}, None),
        ({"torchaudio__version": "2.11.0+cu130", "torchvision__version": None}, None),
        ({"torchaudio__version": "2.10.0+cu130", "torch__version": "2.9.1+cpu"}, None),
        ({"torchaudio__version": "2.10.0+cu130", "torch__build": "pypi"}, None),
    ],
)
def test_a_lost_torch_is_told_by_labels(changes: dict[str, object], told: LostTorch | None) -> None:
    found = golden("linux-a100-healthy", **{**_CPU, **changes})
    assert lost_torch(found, session().matrix) == told


@pytest.mark.parametrize(
    ("changes", "abi"),
    [
        ({}, False),
        ({"packages__named": None}, None),  # it was read, and not told
        ({"torch__build": "other"}, None),
    ],
)
def test_the_build_of_a_text_says_its_abi(changes: dict[str, object], *, abi: bool | None) -> None:
    text: dict[str, object] = {
        "torch__version": "2.1.2",
        "torch__build": "pypi",
        "torch__cxx11_abi": Unknown("the text does not say", "a text"),
        "packages__named": {"torch": "2.1.2"},
        "host__platform": "linux_x86_64",
    }
    found = with_abi_of_build(golden("linux-a100-healthy", **{**text, **changes}), session().matrix)
    fact = found.fact("torch.cxx11_abi")
    assert (fact.value if isinstance(fact, Known) else None) == abi


@pytest.mark.parametrize(
    ("changes", "cuda"),
    [
        ({"flash_attn__wheel__cuda": "cu128"}, "12.8"),
        ({"flash_attn__wheel__cuda": "cu12", "torchvision__version": "0.24.1+cu126"}, "12.6"),
        # a major version alone, none at all, two that differ
        ({"flash_attn__wheel__cuda": "cu12"}, ""),
        ({}, ""),
        ({"flash_attn__wheel__cuda": "cu128", "torchvision__version": "0.24.1+cu126"}, ""),
    ],
)
def test_labels_beside_an_open_torch_name_its_cuda(changes: dict[str, object], cuda: str) -> None:
    """Regression: a torch for CUDA 12.6 was written beside files that are for 12.8."""
    plain: dict[str, object] = {
        "flash_attn__wheel__cuda": None, "torchvision__version": None, "torchaudio__version": None,
    }  # fmt: skip
    found = golden("linux-a100-healthy", **{**plain, **changes})
    assert cuda_of_labels(found, session().matrix) == cuda


def test_files_beside_an_open_torch_name_its_release() -> None:
    there = golden("linux-a100-healthy", flash_attn__wheel__torch="2.8")
    assert minor_of_labels(there) == ""
    open_ = msgspec.structs.replace(there, bounded={"torch": ">=2.4"})
    assert minor_of_labels(open_) == "2.8"
    other = {**open_.facts, "xformers.wheel.torch": Known("2.7", "a file")}
    assert minor_of_labels(msgspec.structs.replace(open_, facts=other)) == ""
