"""What an image of NVIDIA built for its torch is named where another torch replaced that one."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.build_labels import FORMER, image_build_facts
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping
from tests.unit.repair.plan.problems import session

IMAGE = {
    "apex": "0.1", "flash-attn": "2.6.3", "torchvision": "0.20.0a0", "torch-tensorrt": "2.5.0a0",
    "transformer-engine": "1.11.0+4df8488", "numpy": "1.26.4", "einops": "0.8.0",
}  # fmt: skip


def former(packages: dict[str, str], torch: Fact) -> Fact:
    """Return what is said of an image's packages beside a torch."""
    facts = {"packages.installed": Known(packages, "test"), "torch.version": torch}
    return image_build_facts(facts, session().matrix)[FORMER]


def test_all_that_was_built_for_the_former_torch_is_named() -> None:
    """Regression: flash-attn alone was named, since only its file was in the error."""
    found = former(IMAGE, Known("2.8.0", "test"))
    assert isinstance(found, Known)
    assert set(fact_mapping(found)) == set(IMAGE) - {"numpy", "einops"}


def test_what_was_replaced_along_with_torch_is_not_named() -> None:
    moved = {**IMAGE, "torchvision": "0.23.0"}
    found = former(moved, Known("2.8.0", "test"))
    assert isinstance(found, Known)
    assert "torchvision" not in fact_mapping(found)


@pytest.mark.parametrize(
    "torch", ["2.6.0a0+df5bbc09d1.nv24.12", "2.9.0.dev20250801+cu128"], ids=["image", "nightly"]
)
def test_nothing_is_said_beside_a_torch_of_no_release(torch: str) -> None:
    assert isinstance(former(IMAGE, Known(torch, "test")), Absent)


def test_nothing_is_said_without_a_build_that_no_index_has() -> None:
    plain = {"apex": "0.1", "flash-attn": "2.8.3", "torchvision": "0.23.0"}
    assert isinstance(former(plain, Known("2.8.0", "test")), Absent)
    assert isinstance(former({}, Known("2.8.0", "test")), Absent)


def test_a_torch_that_could_not_be_read_leaves_it_open() -> None:
    assert isinstance(former(IMAGE, Unknown("not read", "test")), Unknown)
