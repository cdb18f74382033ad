"""Nothing that a file asks for is said to be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.resolution.wording import PlanWording
from tests.unit.repair.resolution.test_judge import findings, judged, on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("but torch 2.6.0 is installed.", "but torch 2.6.0 is asked for."),
        ("but 2.6.0 is installed; it fails", "but 2.6.0 is asked for; it fails"),
        ("but 3.9.0 is installed", "but 3.9.0 would be installed"),
        ("einops (not installed)", "einops (not installed)"),
        ("neither is installed", "neither would be installed"),
        ("flash-attn is not installed", "flash-attn would not be installed"),
        ("what is installed", "what would be installed"),
    ],
)
def test_words(tmp_path: Path, text: str, said: str) -> None:
    wording = PlanWording(on(tmp_path, "torch==2.6.0\n", "A100"), {}, is_consistent=True)
    assert wording.told(text) == said


def test_a_range_that_cannot_be_met_is_quoted(tmp_path: Path) -> None:
    environment = on(tmp_path, "torch>=2.6,<2.7\nvllm==0.11.0\n", "A100")
    wording = PlanWording(environment, {"torch": "2.6.0"}, is_consistent=False)
    assert wording.told("torch 2.6.0 is installed") == "torch<2.7,>=2.6 is asked for"


def test_no_finding_of_a_file_says_that_something_is_installed(tmp_path: Path) -> None:
    text = "torch==2.6.0\ntrl==0.12.2\ntransformers==4.57.1\ntokenizers==0.21.0\nvllm==0.11.0\n"
    found = findings(judged(tmp_path, text, "V100", "535.183"))
    assert len(found) > 2
    assert not [each.message for each in found.values() if " is installed" in each.message]
