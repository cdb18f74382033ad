"""Which machine a text is about: by a shell, or by a GPU that one kind of machine has."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Known, fact_text
from tests.unit.sources.pasted.reading import read_environment

LISTED = "\nPackage Version\n------- -------\nnumpy   2.2.6\ntorch   2.9.0\n"


def told(text: str, name: str = "host.platform") -> str:
    return fact_text(read_environment((text + LISTED).encode()).fact(name), "")


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("Linux n1 6.8.0-1015-nvidia #1 SMP aarch64 aarch64 aarch64 GNU/Linux", "linux_aarch64"),
        ("$ uname -m\naarch64", "linux_aarch64"),
        ("$ uname -m\nx86_64", "linux_x86_64"),
        ("Darwin m.local 24.5.0 Darwin Kernel Version 24.5.0: RELEASE_ARM64_T6000 arm64",
         "macosx_arm64"),
        ("Darwin m.local 22.6.0 Darwin Kernel Version 22.6.0: RELEASE_X86_64 x86_64",
         "macosx_x86_64"),
        ("Python platform: macOS-13.6.9-x86_64-i386-64bit\nPyTorch version: 2.2.2",
         "macosx_x86_64"),
    ],
)  # fmt: skip
def test_a_shell_tells_the_platform(text: str, platform: str) -> None:
    assert told(text) == platform


@pytest.mark.parametrize(
    ("gpu", "build"),
    [("NVIDIA GB200", "cpu"), ("NVIDIA GH200 480GB", "cpu"), ("NVIDIA GB10", "cpu"), ("Orin", "")],
)
def test_a_gpu_that_shares_a_board_with_its_processor_tells_the_platform(
    gpu: str, build: str
) -> None:
    """torch of PyPI for ARM has no CUDA before 2.11; a Jetson's own torch has no label either."""
    text = f"$ nvidia-smi -L\nGPU 0: {gpu} (UUID: GPU-1)\n"
    assert told(text) == "linux_aarch64"
    assert told(text, "torch.build") == build


@pytest.mark.parametrize(
    "text",
    [
        "It works on my GH200, too.\nGPU 0: NVIDIA H100 (UUID: GPU-1)",
        "aarch64\nx86_64",  # two machines
        "We have wheels for aarch64 and x86_64",
    ],
)
def test_words_beside_it_tell_nothing(text: str) -> None:
    assert told(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64",
        "PyTorch version: 2.9.0\nPython platform: Linux-5.15.148-tegra-aarch64-with-glibc2.35",
    ],
)
def test_a_jetson_is_told_by_its_kernel_or_its_release_file(text: str) -> None:
    fact = read_environment((text + LISTED).encode()).fact("host.tegra")
    assert isinstance(fact, Known)
    assert fact.value is True


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("# R36 (release), REVISION: 4.3, GCID: 1", "36.4.3"),
        ("# R35 (release), REVISION: 4.1,", "35.4.1"),
    ],
)
def test_the_release_file_of_a_jetson_names_its_system(text: str, release: str) -> None:
    assert fact_text(read_environment((text + LISTED).encode()).fact("host.l4t"), "") == release


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("musl libc (x86_64)\nVersion 1.2.5", "musllinux_x86_64"),
        ('NAME="Alpine Linux"\nID=alpine', "musllinux_x86_64"),
        ("we had Alpine Linux before, with musl libc", "linux_x86_64"),
    ],
)
def test_alpine_is_a_platform_of_its_own(text: str, platform: str) -> None:
    """Regression: torch's file for glibc was planned there."""
    found = read_environment(f"{text}\n{LISTED}".encode())
    assert fact_text(found.fact("host.platform"), "") == platform


def test_collect_env_that_finds_no_gpu_names_none() -> None:
    """Its words for that were read as the name of a GPU, and torch for CUDA was planned."""
    text = (
        "PyTorch version: 2.9.1+cpu\nCUDA used to build PyTorch: None\n"
        "GPU models and configuration: No CUDA\nNvidia driver version: No CUDA\n"
    )
    environment = read_environment(text.encode())
    assert fact_text(environment.fact("gpu.count"), "") == "0"
    assert "gpu[0].name" not in environment.facts


def test_a_gpu_that_another_tool_names_counts_all_the_same() -> None:
    text = (
        "PyTorch version: 2.9.1+cpu\nGPU models and configuration: No CUDA\n"
        "GPU 0: NVIDIA A40 (UUID: GPU-1)\n"
    )
    assert fact_text(read_environment(text.encode()).fact("gpu.count"), "") == "1"
