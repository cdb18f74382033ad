"""What comes along in a release that a pinned package cannot be imported with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, fact_mapping, fact_text
from fadoctor.sources.manifests.installed.too_new import (
    TOO_NEW,
    TOO_NEW_BELOW,
    TOO_NEW_UNLESS,
    bounds_of,
)
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path

CU126 = "https://download.pytorch.org/whl/cu126"


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("diffusers==0.27.2\ntransformers==4.39.3\n", {"huggingface-hub": "<0.26.0"}),
        ("sentence-transformers==2.2.2\ntorch==2.1.0\n", {"huggingface-hub": "<0.26.0"}),
        ("diffusers==0.27.2\nhuggingface-hub==0.25.2\n", {}),  # that is judged by itself
        ("diffusers==0.27.2\nhuggingface-hub>=0.20\n", {"huggingface-hub": ">=0.20,<0.26.0"}),
        ("diffusers==0.27.2\nhuggingface-hub>=0.30\n", {}),  # the line itself is at fault
        ("diffusers==0.27.2\nhuggingface-hub<0.30\n", {"huggingface-hub": "<0.30,<0.26.0"}),
        ("diffusers==0.31.0\ntransformers==4.46.3\n", {}),
        ("diffusers\ntransformers==4.39.3\n", {}),  # its newest release comes with it
        ("diffusers==0.27.2\nan-unknown-package\n", {"huggingface-hub": "<0.26.0"}),
        ("datasets==2.14.5\nnumpy==1.26.4\n", {"pyarrow": "<21.0.0"}),
        # one below does not go with what is pinned beside it: that is another fault
        ("diffusers==0.27.2\ntransformers==4.56.2\n", {}),
        # each release of a closed range asks for the same
        ("diffusers>=0.27.2,<0.28\ntransformers==4.39.3\n", {"huggingface-hub": "<0.26.0"}),
        ("diffusers~=0.24.0\n", {"huggingface-hub": "<0.26.0"}),
        ("diffusers>=0.27.2,<0.30\ntransformers==4.39.3\n", {}),
        ("diffusers>=0.27.2\n", {}),
        # compiled for one torch, and for one CUDA, which it requires in no way
        ("torch==2.8.0\ntorchcodec\n", {"torchcodec": "<0.8"}),
        ("torch==2.8.0\ntorchcodec>=0.6\n", {"torchcodec": ">=0.6,<0.8"}),
        ("torch==2.8.0\ntorchcodec==0.17.0\n", {}),  # another rule tells it
        ("torch==2.8.0\n", {}),
        ("torch==2.12.0\ntorchcodec\n", {}),
        (
            f"--extra-index-url {CU126}\ntorch==2.12.0+cu126\ntorchcodec\n",
            {"torchcodec": "<0.14.0"},
        ),
        (
            "--index-url https://download.pytorch.org/whl/cu126\ntorch==2.12.0+cu126\ntorchcodec\n",
            {},
        ),
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


@pytest.mark.parametrize(
    ("more", "who"), [("", ""), ("an-unknown-package\n", "an-unknown-package")]
)
def test_who_may_keep_it_older_is_said(tmp_path: Path, more: str, who: str) -> None:
    found = planned(tmp_path, f"datasets==2.14.5\nnumpy==1.26.4\n{more}")
    assert fact_text(found.fact(TOO_NEW_UNLESS), "") == who


def test_no_bound_is_absent(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.6.0\n")
    assert isinstance(found.fact(TOO_NEW_BELOW), Absent)
    assert isinstance(found.fact(TOO_NEW), Known)
