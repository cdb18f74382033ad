"""The verdict table of every torch release, against the golden file.

``FADOCTOR_UPDATE_GOLDEN=1`` writes the file again; review it as a diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Fact, Known
from tests.history.environments import GPUS, stacks
from tests.history.table import DTYPES, Cells, cells, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.rule import Knowledge

GOLDEN = Path(__file__).with_name("history.txt")


@pytest.mark.sampled
def test_the_table_is_what_it_was(releases: Mapping[str, Cells]) -> None:
    text = render(releases)
    if os.environ.get("FADOCTOR_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_every_torch_release_has_a_stack(knowledge: Knowledge) -> None:
    """Torch before 1.13 has no kernel for attention: no cell of the table is about it."""
    rows = knowledge.tables["torch-releases"].rows
    releases = {version for row in rows for version in str(row["version"]).split()}
    assert set(stacks()) == {each for each in releases if Version(each) >= Version("1.13")}


def test_the_stacks_are_those_of_the_matrix(knowledge: Knowledge) -> None:
    matrix = Matrix(knowledge.tables)
    for stack in stacks().values():
        keys: dict[str, Fact] = {
            "version": Known(stack.torch, "stack"),
            "build": Known("pypi", "stack"),
            "platform": Known("linux_x86_64", "stack"),
        }
        build = matrix.find("torch-builds", keys)
        assert known(build.cell("cuda")) == stack.cuda
        assert known(build.cell("cxx11_abi")) is (stack.cxx11_abi == "true")
        release = matrix.find("torch-releases", {k: keys[k] for k in ("version", "platform")})
        pin = stack.triton_pin or (f"=={stack.triton}" if stack.triton else None)
        assert known(release.cell("triton")) == pin
        assert stack.python in str(known(release.cell("python")))


def known(fact: Fact) -> object:
    return fact.value if isinstance(fact, Known) else None


@pytest.mark.parametrize("gpu", ["V100", "H100", "MI300X"])
def test_a_gpu_has_the_same_verdicts_alone_and_among_others(
    gpu: str, knowledge: Knowledge, releases: Mapping[str, Cells]
) -> None:
    for key, verdict in cells(stacks()["2.10.0"], knowledge, (gpu,)).items():
        other = releases["2.10.0"][key]
        assert (verdict.predicted, verdict.because) == (other.predicted, other.because)


@pytest.mark.long
def test_a_backend_has_all_dtypes_on_all_gpus_or_no_row(releases: Mapping[str, Cells]) -> None:
    for found in releases.values():
        for backend in {key[0] for key in found}:
            assert {(backend, d, gpu) for d in DTYPES for gpu in GPUS} <= found.keys()
