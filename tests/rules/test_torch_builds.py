"""Which builds torch's own index has, of releases that people take from it."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.repair.plan.choices.indexes import Indexes
from tests.shipped import compiled


@pytest.fixture(scope="module")
def indexes() -> Indexes:
    return Indexes(Matrix(compiled().knowledge.tables))


@pytest.mark.parametrize(
    "torch", ["2.8.0", "2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"]
)
def test_the_index_of_cu129_serves_linux(indexes: Indexes, torch: str) -> None:
    assert indexes.cuda_of("cu129", torch, "linux_x86_64") == "12.9"
    assert indexes.of("cu129") == "https://download.pytorch.org/whl/cu129"


@pytest.mark.parametrize("torch", ["2.12.0", "2.14.0", "2.15.0"])
def test_releases_without_cu129_have_none(indexes: Indexes, torch: str) -> None:
    assert not indexes.has("cu129", torch, "linux_x86_64")


@pytest.mark.parametrize("torch", ["2.9.0", "2.9.1", "2.10.0"])
@pytest.mark.parametrize("build", ["cu126", "cu128", "cu129", "cu130"])
def test_aarch64_has_builds_with_cuda_that_pypi_lacks(
    indexes: Indexes, torch: str, build: str
) -> None:
    assert indexes.has(build, torch, "linux_aarch64")
    assert indexes.cuda_of("pypi", torch, "linux_aarch64") == ""


@pytest.mark.parametrize("build", ["cu129", "cu128"])
def test_windows_has_fewer(indexes: Indexes, build: str) -> None:
    assert not indexes.has(build, "2.13.0", "win_amd64")
