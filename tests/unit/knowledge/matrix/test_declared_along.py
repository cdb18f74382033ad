"""What comes along with packages that no plan chooses counts as required by who requires these."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from fadoctor.knowledge.matrix.declared import declared
from tests.unit.repair.plan.problems import session


@pytest.mark.parametrize(
    ("version", "numpy", "is_met"),
    [
        ("0.17.0", "1.26.4", False),  # its opencv requires numpy 2
        ("0.17.0", "2.2.6", True),
        ("0.17.0", "2.5.5", False),  # its numba requires an older one
        ("0.14.0", "1.26.4", True),  # an older opencv will do
    ],
)
def test_numpy_beside_vllm(version: str, numpy: str, is_met: bool) -> None:  # noqa: FBT001 -- a table
    asked = declared("vllm", version, session().matrix)["numpy"]
    assert SpecifierSet(asked).contains(numpy) is is_met


@pytest.mark.parametrize(("python", "is_met"), [("3.12", False), ("3.13", True), ("", True)])
def test_what_comes_along_on_some_pythons_alone(python: str, *, is_met: bool) -> None:
    """Regression: NumPy 2.4.6 was planned beside axolotl 0.17, whose mistral-common refuses it."""
    asked = declared("axolotl", "0.17.0", session().matrix, python)["numpy"]
    assert SpecifierSet(asked).contains("2.4.6") is is_met
