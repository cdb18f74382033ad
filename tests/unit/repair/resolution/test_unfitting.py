"""A pin that no wheel of a package goes with: that is said, and nothing where one may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.repair.resolution.test_judge import judged

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torch==2.15.0\nvllm\n", "No wheel of vllm in the tables fits torch 2.15.0."),
        ("torch==2.9.1\nvllm>=0.20\n", "No wheel of vllm>=0.20 in the tables fits torch 2.9.1."),
    ],
)
def test_a_pin_that_no_wheel_goes_with_is_named(tmp_path: Path, text: str, wanted: str) -> None:
    assert wanted in judged(tmp_path, text, "H100", "610.43").shown.environment.target.notes


@pytest.mark.parametrize("text", ["torch==2.14.0\nvllm\n", "torch==2.15.0\neinops\n"])
def test_a_pin_that_some_release_goes_with_is_not(tmp_path: Path, text: str) -> None:
    notes = judged(tmp_path, text, "H100", "610.43").shown.environment.target.notes
    assert not any("No wheel" in note for note in notes)
