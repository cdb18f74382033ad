"""What the report says where there is nothing to show."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.diagnose import diagnose
from fadoctor.report.style import Style
from fadoctor.report.text import render
from tests.smoke.smoke_recordings import complete
from tests.unit.engine.builders import ABSENT, UNREAD, environment, shipped

A_GPU = {
    "gpu.count": 1,
    "gpu[0].name": "NVIDIA A100",
    "gpu[0].visible": True,
    "gpu[0].vendor": "nvidia",
}
HEALTHY = {"torch.version": "2.8.0", "gpu.count": 0}


def text(facts: dict[str, Any]) -> str:
    return render(diagnose(environment(complete(facts)), shipped()), Style())


def test_without_torch_that_is_what_is_said() -> None:
    """It was "No findings", "there is no GPU here" beside --gpu, and a backend of torch to use."""
    said = text({"torch.version": ABSENT, **A_GPU})
    assert "Nothing of the stack is installed here" in said
    assert "No table: without torch no backend works." in said
    assert "No findings" not in said
    assert "no GPU here" not in said
    assert "\nUse " not in said
    said = text({"torch.version": ABSENT, "flash_attn.version": "2.8.3", **A_GPU})
    assert "error: torch is not installed" in said
    assert "Nothing can be recommended: there is no torch here." in said


@pytest.mark.parametrize(
    ("facts", "part"),
    [
        (HEALTHY, "No table: there is no GPU here."),
        ({**HEALTHY, "gpu.count": UNREAD}, "which GPUs are here is unknown (could not be read)"),
        ({**HEALTHY, **A_GPU, "gpu[0].visible": False}, "on a GPU that programs can see"),
    ],
)
def test_why_there_is_no_table(facts: dict[str, Any], part: str) -> None:
    assert part in text(facts)
