"""Tensor cores: by compute capability, and for Turing by the chip that a product has."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.targets.tensor_cores import tensor_core_facts
from tests.unit.judging.engine.builders import environment, shipped


@pytest.mark.parametrize(
    ("name", "capability", "wanted"),
    [
        ("NVIDIA GeForce RTX 4090", "8.9", True),
        ("Tesla V100-SXM2-16GB", "7.0", True),
        ("Tesla P100-PCIE-16GB", "6.0", False),
        ("NVIDIA GeForce GT 1030", "6.1", False),
        ("Tesla T4", "7.5", True),
        ("NVIDIA GeForce RTX 2080 Ti", "7.5", True),
        ("NVIDIA T400 4GB", "7.5", False),
        ("NVIDIA GeForce GTX 1660 SUPER", "7.5", False),
        ("Quadro T2000 with Max-Q Design", "7.5", False),
        ("sm_75", "7.5", None),
        ("NVIDIA Something", "9.9", None),
    ],
)
def test_tensor_cores(name: str, capability: str, wanted: bool | None) -> None:  # noqa: FBT001 -- a cell of a table
    facts = {"gpu.count": 1, "gpu[0].name": name, "gpu[0].compute_capability": capability}
    found = tensor_core_facts(environment(facts), Matrix(shipped().tables))["gpu[0].tensor_cores"]
    assert (found.value if isinstance(found, Known) else None) is wanted
    assert isinstance(found, Known | Unknown)


def test_a_plain_chip_is_one_of_the_names() -> None:
    for row in shipped().tables["gpu-names"].rows:
        assert isinstance(row["plain"], tuple)
        assert set(row["plain"]) <= set(row["names"])  # type: ignore[arg-type]  # a list column
