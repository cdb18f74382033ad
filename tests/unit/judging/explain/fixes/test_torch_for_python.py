"""A torch that a fix asks for has files for the Python that a text names."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

LOG = """{}, Windows 11, Python {}
  File "C:\\p\\train.py", line 3, in <module>
AssertionError: Torch not compiled with CUDA enabled
"""


def _steps(knowledge: Knowledge, text: str) -> str:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return "\n".join(step.text for step in report.findings[0].fixes[0].steps)


@pytest.mark.parametrize(
    ("gpu", "python", "trio"),
    [
        ("RTX 3060", "3.8.10", "torch==2.4.1 torchvision==0.19.1 torchaudio==2.4.1"),
        ("RTX 3060", "3.12.4", "torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0"),
        ("RTX 5070", "3.14.0", "torch==2.9.0 torchvision==0.24.0 torchaudio==2.9.0"),
    ],
)
def test_the_release_has_a_file_for_the_python(
    knowledge: Knowledge, gpu: str, python: str, trio: str
) -> None:
    assert trio in _steps(knowledge, LOG.format(gpu, python))


def test_no_index_of_another_release_is_named(knowledge: Knowledge) -> None:
    steps = _steps(knowledge, LOG.format("RTX 3060", "3.8.10"))
    assert "whl/cu121" in steps
    assert "whl/cu126" not in steps


def test_a_gpu_that_needs_the_release_gets_another_python_first(knowledge: Knowledge) -> None:
    steps = _steps(knowledge, LOG.format("RTX 5070", "3.8.10"))
    assert steps.startswith("torch 2.8.0 has no file for Python 3.8")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Driver Version: 470.86  CUDA Version: 11.4", "whl/cu118"),
        ("Driver Version: 552.22  CUDA Version: 12.4", "whl/cu12"),
    ],
)
def test_the_index_is_one_that_the_driver_runs(
    knowledge: Knowledge, line: str, wanted: str
) -> None:
    steps = _steps(knowledge, f"{line}\n{LOG.format('RTX 3060', '3.10.4')}")
    assert wanted in steps
