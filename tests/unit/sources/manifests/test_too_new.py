"""What comes along in a release that a pinned package cannot be imported with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, fact_mapping
from fadoctor.sources.manifests.too_new import TOO_NEW, TOO_NEW_BELOW, bounds_of
from tests.unit.sources.manifests.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("diffusers==0.27.2\ntransformers==4.39.3\n", {"huggingface-hub": "<0.26.0"}),
        ("sentence-transformers==2.2.2\ntorch==2.1.0\n", {"huggingface-hub": "<0.26.0"}),
        ("diffusers==0.27.2\nhuggingface-hub==0.25.2\n", {}),  # that is judged by itself
        ("diffusers==0.27.2\nhuggingface-hub>=0.20\n", {}),
        ("diffusers==0.31.0\ntransformers==4.46.3\n", {}),
        ("diffusers\ntransformers==4.39.3\n", {}),  # its newest release comes with it
        ("diffusers==0.27.2\nan-unknown-package\n", {}),  # it may bound it
        # one below does not go with what is pinned beside it: that is another fault
        ("diffusers==0.27.2\ntransformers==4.56.2\n", {}),
        # no release of it comes that is too new
        ("datasets==2.15.0\ntransformers==4.46.3\n", {}),
    ],
)
def test_what_comes_along_is_held_against_the_names_that_a_pin_asks_for(
    tmp_path: Path, text: str, bounds: dict[str, str]
) -> None:
    found = planned(tmp_path, text)
    assert bounds_of(found.fact(TOO_NEW_BELOW)) == bounds
    assert fact_mapping(found.fact(TOO_NEW)).keys() == bounds.keys()


def test_no_bound_is_absent(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.6.0\n")
    assert isinstance(found.fact(TOO_NEW_BELOW), Absent)
    assert isinstance(found.fact(TOO_NEW), Known)
