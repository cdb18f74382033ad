"""Whether a newer libcuda is in use: what torch found outranks the table of drivers."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Fact, Known, Unknown
from tests.unit.sources.pasted.reading import read_environment

_REPORT = """\
PyTorch version: {torch}
CUDA used to build PyTorch: {cuda}
OS: Ubuntu 20.04.6 LTS (x86_64)
Python version: 3.11.9 (64-bit runtime)
Is CUDA available: {seen}
GPU models and configuration: GPU 0: NVIDIA A100-PCIE-40GB
Nvidia driver version: {driver}
"""


def _compat(torch: str, cuda: str, seen: str, driver: str, more: str = "") -> Fact:
    text = _REPORT.format(torch=torch, cuda=cuda, seen=seen, driver=driver) + more
    return read_environment(text.encode()).fact("driver.forward_compat")


def test_cuda_that_was_found_beside_an_older_driver_comes_of_a_newer_libcuda() -> None:
    found = _compat("2.5.1+cu124", "12.4", "True", "470.82.01")
    assert isinstance(found, Known)
    assert found.value is True
    assert "470.82.01 alone is too old" in found.source


@pytest.mark.parametrize(
    ("torch", "cuda", "seen", "driver"),
    [
        ("2.5.1+cu124", "12.4", "False", "470.82.01"),
        ("2.5.1+cu124", "12.4", "True", "535.183.01"),
        ("2.5.1+cu118", "11.8", "True", "470.82.01"),
    ],
    ids=["not found", "new enough", "of that driver's CUDA"],
)
def test_nothing_is_said_of_other_reports(torch: str, cuda: str, seen: str, driver: str) -> None:
    assert isinstance(_compat(torch, cuda, seen, driver), Unknown)


def test_a_text_that_speaks_of_a_refused_driver_proves_nothing() -> None:
    more = "\nSince the reboot it says that the NVIDIA driver on your system is too old.\n"
    assert isinstance(_compat("2.5.1+cu124", "12.4", "True", "470.82.01", more), Unknown)
