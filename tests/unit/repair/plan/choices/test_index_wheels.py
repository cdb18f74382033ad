"""xformers of PyTorch's index: for torch's CUDA, where PyPI has a file for another alone."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.choices.choice import ChoiceKind
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import plan, session

RTX = ("NVIDIA GeForce RTX 4090", "8.9", "580.95.05")
INDEX = "https://download.pytorch.org/whl"


def files(torch: str, cuda: str, build: str, platform: str = "linux_x86_64") -> list[str]:
    there = on_platform(start("xformers of PyPI beside CUDA 13", RTX), platform)
    told = {"torch.version": torch, "torch.cuda": cuda, "torch.build": build}
    facts = {**there.facts, **{name: fact_of(value) for name, value in told.items()}}
    there = msgspec.structs.replace(there, facts=facts)
    found = session().candidates.releases("xformers", there)
    return [choice.url for choice in found if choice.kind is ChoiceKind.WHEEL]


@pytest.mark.parametrize(
    ("torch", "cuda", "build", "file"),
    [
        ("2.13.0", "13.0", "pypi", "cu130/xformers-0.0.35-py39-none"),
        ("2.12.0+cu132", "13.2", "cu132", "cu130/xformers-0.0.35-py39-none"),
        ("2.9.1+cu130", "13.0", "cu130", "cu130/xformers-0.0.33.post2-cp39-abi3"),
        ("2.6.0+cu118", "11.8", "cu118", "cu118/xformers-0.0.29.post3-cp312-cp312"),
    ],
)
def test_the_file_is_for_the_cuda_of_torch(torch: str, cuda: str, build: str, file: str) -> None:
    assert f"{INDEX}/{file}-manylinux_2_28_x86_64.whl" in files(torch, cuda, build)


@pytest.mark.parametrize(
    ("torch", "cuda", "build", "platform"),
    [
        ("2.11.0+cu126", "12.6", "cu126", "linux_x86_64"),  # PyPI's is for CUDA 12
        ("2.13.0", "13.0", "pypi", "linux_aarch64"),
        ("2.5.0+cpu", "", "cpu", "linux_x86_64"),
    ],
)
def test_none_is_offered_where_pypis_fits_or_none_is_known(
    torch: str, cuda: str, build: str, platform: str
) -> None:
    assert files(torch, cuda, build, platform) == []


def test_torch_stays_where_another_file_of_xformers_is_enough() -> None:
    found = plan(start("xformers of PyPI beside CUDA 13", RTX))
    assert [(each.distribution, each.after) for each in found.changes] == [("xformers", "0.0.35")]
    [install] = (action for action in found.actions if action.kind is ActionKind.INSTALL)
    assert install.url == f"{INDEX}/cu130/xformers-0.0.35-py39-none-manylinux_2_28_x86_64.whl"
    assert "--no-deps" in install.argv
