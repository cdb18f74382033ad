"""A file that pip refused, of a release that PyTorch's index has."""

from __future__ import annotations

from fadoctor.judging.explain.fixes.other_python_files import of_another_python

REFUSED = "ERROR: {} is not a supported wheel on this platform."
FOR_LINUX = "xformers-0.0.27+cu121-cp310-cp310-manylinux2014_x86_64.whl"
FOR_WINDOWS = "xformers-0.0.27+cu121-cp310-cp310-win_amd64.whl"


def _first(*files: str, platform: str = "win_amd64") -> str:
    steps = of_another_python([REFUSED.format(file) for file in files], "", platform)
    return steps[0].text if steps else ""


def test_pip_chooses_the_file_of_the_platform_itself() -> None:
    wanted = "pip install xformers==0.0.27 --index-url https://download.pytorch.org/whl/cu121"
    assert _first(FOR_LINUX) == wanted
    assert _first(FOR_LINUX, FOR_WINDOWS) == wanted


def test_a_file_for_another_python_alone_gets_an_environment() -> None:
    assert _first(FOR_WINDOWS) == "The name says cp310: this file is for Python 3.10 alone."


def test_two_releases_and_other_packages_are_not_chosen() -> None:
    assert _first(FOR_LINUX, FOR_LINUX.replace("0.0.27", "0.0.28")) == ""
    assert _first("flash_attn-2.8.3+cu12torch2.8-cp310-cp310-linux_x86_64.whl") == ""
