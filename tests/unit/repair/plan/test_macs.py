"""Plans for Macs: the files of PyPI are the only ones, and have no label."""

from __future__ import annotations

from fadoctor.sources.logs.pasted_text import read_text
from tests.unit.repair.plan.problems import plan, session

MAC = """PyTorch version: 2.6.0
OS: macOS 14.7 (arm64)
Python version: 3.12.8 (main, Dec  3 2024) [Clang 16.0.0] (64-bit runtime)
Python platform: macOS-14.7-arm64-arm-64bit
Is CUDA available: False

$ pip list
Package     Version
----------- -------
torch       2.6.0
torchaudio  2.6.0
torchvision 0.20.0
"""


def test_what_comes_beside_torch_has_no_label() -> None:
    """Regression: torchvision came with the label of the CPU's index, which has none for Macs."""
    found = plan(read_text(MAC.encode(), "paste", session().knowledge))
    (action,) = found.actions
    assert action.requirements == ("torchvision==0.21.0",)
