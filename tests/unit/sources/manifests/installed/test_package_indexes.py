"""Indexes of single packages: what they serve stays open, and torch comes from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Unknown
from tests.unit.sources.manifests.installed.test_environment import planned, value

if TYPE_CHECKING:
    from pathlib import Path

NIGHTLY = "--extra-index-url https://wheels.vllm.ai/nightly/cu130\n"


def test_a_release_that_an_index_of_its_own_may_have_is_open(tmp_path: Path) -> None:
    found = planned(tmp_path, f"{NIGHTLY}torch==2.10.0\nvllm\n")

    assert isinstance(found.facts["vllm.version"], Unknown)
    assert "vllm" not in found.ranges
    assert value(found, "torch.build") == "pypi"


def test_a_release_that_is_named_is_that_one(tmp_path: Path) -> None:
    assert value(planned(tmp_path, f"{NIGHTLY}vllm==0.11.0\n"), "vllm.version") == "0.11.0"


@pytest.mark.parametrize(
    ("index", "build"),
    [
        ("https://flashinfer.ai/whl/cu128", "pypi"),
        ("https://download.pytorch.org/whl/cu126", "cu126"),
        ("https://mirror.example/pytorch-wheels/cu126/", "cu126"),
    ],
)
def test_the_build_of_torch_by_the_index(index: str, build: str, tmp_path: Path) -> None:
    found = planned(tmp_path, f"--extra-index-url {index}\ntorch==2.10.0\n")
    assert value(found, "torch.build") == build


def test_an_index_for_rocm_may_bring_its_torch(tmp_path: Path) -> None:
    index = "--extra-index-url https://wheels.vllm.ai/rocm/0.14.0/rocm700\n"
    found = planned(tmp_path, f"{index}torch==2.10.0\n")
    assert value(found, "torch.build") == "rocm"


@pytest.mark.parametrize("option", ["--index-url", "--extra-index-url"])
def test_xformers_of_an_index_of_torch_is_not_that_of_pypi(option: str, tmp_path: Path) -> None:
    """A torch for CUDA 11.8 and its xformers of the same index were told to be unfit."""
    index = f"{option} https://download.pytorch.org/whl/cu118\n"
    found = planned(tmp_path, f"{index}torch==2.2.1\nxformers==0.0.25\n")
    assert isinstance(found.facts["xformers.direct_url"], Unknown)
    assert (
        value(planned(tmp_path, "torch==2.2.1\nxformers==0.0.25\n"), "xformers.direct_url") is None
    )
