"""The torch that a command installed, where its index has one build for the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.sources.completion.typed_torch import unseen_by_cpu_build
from tests.unit.sources.pasted.reading import read_environment

if TYPE_CHECKING:
    from fadoctor.model.fact import Fact

SEES_NONE = "torch.cuda.is_available() is False, RTX 4070.\n"


def fact(text: str, name: str) -> Known | Absent | Unknown:
    return read_environment(text.encode()).fact(name)


@pytest.mark.parametrize(
    "command",
    [
        "pip install torch torchvision",
        "`uv pip install torch`",
        'python -m pip install -U "torch>=2.1" numpy',
        "uv add torch",
        "poetry add torch",
    ],
)
def test_pypi_has_the_cpu_build_alone_for_windows(command: str) -> None:
    text = f"Windows 11. I ran {command}\n{SEES_NONE}"
    build = fact(text, "torch.build")
    assert isinstance(build, Known)
    assert build.value == "cpu"
    assert "PyPI" in build.source
    assert isinstance(fact(text, "torch.cuda"), Absent)


def test_a_release_that_the_command_pins_is_the_one_that_is_there() -> None:
    text = f"Windows 11. I ran pip install torch==2.7.0, then\n{SEES_NONE}"
    version = fact(text, "torch.version")
    assert isinstance(version, Known)
    assert version.value == "2.7.0"


@pytest.mark.parametrize(
    "text",
    [
        f"Ubuntu 22.04. pip install torch\n{SEES_NONE}",  # PyPI's file has CUDA there
        f"Windows. pip install torch --index-url https://x.test/whl/cu126\n{SEES_NONE}",
        f"Windows. pip install torch -f pages.html\n{SEES_NONE}",
        f"Windows. conda install pytorch, then pip install torch\n{SEES_NONE}",
        f"Windows. pip install torch: Requirement already satisfied\n{SEES_NONE}",
        f"Windows. pip install torchvision\n{SEES_NONE}",
        "Windows. pip install torch\ntorch.cuda.is_available() is True, RTX 4070.\n",
        "Windows. pip install torch, RTX 4070. flash-attn does not compile.\n",
    ],
)
def test_what_leaves_the_build_open(text: str) -> None:
    assert isinstance(fact(text, "torch.build"), Unknown)


LISTED = "RTX 3060, on Windows\n\ntorch 2.5.1\ntorchvision 0.20.1\n\n"


def test_a_cpu_build_that_sees_no_gpu_hides_none() -> None:
    text = LISTED + ">>> torch.cuda.is_available()\nFalse\n"
    assert fact(text, "torch.build") == fact(LISTED, "torch.build")
    visible = fact(text, "gpu.visible_count")
    assert isinstance(visible, Known)
    assert visible.value == 1


def test_a_build_for_cuda_that_sees_no_gpu_leaves_open_what_is_visible() -> None:
    text = LISTED.replace("2.5.1", "2.5.1+cu124") + ">>> torch.cuda.is_available()\nFalse\n"
    assert isinstance(fact(text, "gpu.visible_count"), Unknown)


def test_what_hides_gpus_is_not_overruled() -> None:
    facts: dict[str, Fact] = {
        "torch.build": Known("cpu", "a list"),
        "gpu.count": Known(1, "a line"),
        "gpu.visible_count": Unknown("not said", "a line"),
    }
    assert unseen_by_cpu_build(facts)["gpu.visible_count"] == Known(1, "a line")
    assert unseen_by_cpu_build({**facts, "env.CUDA_VISIBLE_DEVICES": Known("1", "a line")}) == {}


def test_pip_prints_folders_of_windows_in_small_letters() -> None:
    text = "Name: torch\nVersion: 2.4.1\nLocation: c:\\users\\kim\\venv\\lib\\site-packages\n"
    platform = fact(text, "host.platform")
    assert isinstance(platform, Known)
    assert platform.value == "win_amd64"


def test_an_escaped_line_end_is_no_folder_of_windows() -> None:
    text = "torch 2.4.1 says b:\\nlong\\nline and nothing else on Linux\n"
    platform = fact(text, "host.platform")
    assert not isinstance(platform, Known) or platform.value != "win_amd64"


def test_one_row_of_condas_list_is_one() -> None:
    text = "pytorch 2.3.0 cpu_generic_py311h8ca351a_0 conda-forge\nRTX A4000 is not used\n"
    build = fact(text, "torch.build")
    assert isinstance(build, Known)
    assert build.value == "cpu"
