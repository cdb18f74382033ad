"""A wheel that is built for a release of torch comes after that release, beside a nightly torch."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

MISFIT = (
    "Python 3.10, Linux\n"
    "xFormers was built for:\n"
    "    PyTorch 2.6.0+cu124 with CUDA 1204 (you have {})\n"
    "    Python  3.10.11 (you have 3.10.11)\n"
)
RELEASE = "torch==2.8.0+cu128"


@pytest.mark.parametrize(
    ("torch", "is_first"),
    [
        ("2.8.0.dev20250314+cu128", True),
        ("2.8.0+cu128", False),
        ("2.99.0.dev20990314+cu128", False),
        ("2.8.0.dev20250314+rocm6.3", False),
    ],
)
def test_the_release_comes_before_its_wheel(
    knowledge: Knowledge, torch: str, *, is_first: bool
) -> None:
    """An xformers for torch 2.8 was told to a person with a nightly torch, for which none loads."""
    log = MISFIT.format(torch)
    [finding, *_] = explain(read_log(io.BytesIO(log.encode()), "a", knowledge), knowledge).findings
    installed = [item for step in finding.fixes[0].steps for item in step.items]
    assert (RELEASE in installed) == is_first
    assert ("nightly build" in finding.fixes[0].title) == is_first
