"""Lines that a mail, a chat or a terminal has wrapped: the readers see them whole."""

from __future__ import annotations

import textwrap

import pytest

from fadoctor.sources.logs.cleaning import clean_lines
from fadoctor.sources.logs.sieve import Region
from fadoctor.sources.logs.unwrapping import unwrapped

REPORT = """\
Python version: 3.11.9 | packaged by conda-forge | (main, Apr 19 2024, 18:36:13) [GCC 12.3.0]
Python platform: Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4080 Laptop GPU, of a wide name
Nvidia driver version: 552.22
I have tried it with the release before, and also in another environment, where it was the same."""


def texts(paste: str) -> list[str]:
    return [line.text for line in unwrapped([*clean_lines(Region(1, paste.encode()))])]


@pytest.mark.parametrize("width", [64, 72, 80])
def test_what_was_wrapped_between_words_is_whole(width: int) -> None:
    wrapped = [part for line in REPORT.split("\n") for part in textwrap.wrap(line, width)]
    assert len(wrapped) > len(REPORT.split("\n"))
    assert texts("\n".join(wrapped)) == REPORT.split("\n")


@pytest.mark.parametrize("width", [60, 72])
def test_what_a_terminal_cut_is_whole(width: int) -> None:
    cut = [
        line[at : at + width] for line in REPORT.split("\n") for at in range(0, len(line), width)
    ]
    assert texts("\n".join(cut)) == REPORT.split("\n")


def test_a_row_of_a_table_ends_with_its_edge() -> None:
    row = "| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA\nVersion: 12.2     |"
    assert texts(row) == [row.replace("\n", " ")]


@pytest.mark.parametrize(
    "paste",
    [
        # rows of a table are as wide as each other
        (
            "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
            "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |"
        ),
        # names with their values, one a line, of which one is the widest
        (
            "pytorch.cuda:                                      available\n"
            "gpu.name:                                          NVIDIA GeForce RTX 4060 Ti\n"
            "dcgm_profiler:                                     unavailable"
        ),
        (
            "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090 (24 GiB)\n"
            "Nvidia driver version: 552.22\ncuDNN version: Could not collect"
        ),
        # a command and what it printed
        (
            "$ nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader\n"
            "NVIDIA B200, 570.133.20, 10.0"
        ),
        "pip install flash-attn==2.5.8 --no-build-isolation --no-cache-dir -v\ntorch 2.3.0",
        # a line that is wider than any margin
        "a" * 140 + "\nb",
    ],
)
def test_what_was_not_wrapped_stays(paste: str) -> None:
    assert texts(paste) == paste.split("\n")


def test_fences_have_margins_of_their_own() -> None:
    wide = "word " * 40
    wrapped = [part for line in REPORT.split("\n") for part in textwrap.wrap(line, 72)]
    paste = "\n".join([wide.strip(), "```", *wrapped, "```"])
    assert texts(paste)[2:-1] == REPORT.split("\n")


def test_a_sentence_without_spaces_is_no_long_word() -> None:
    paste = (
        "报错信息: it only supports sm 75 and  above\n"
        "我的GPU架构版本是V100, 计算能力应该是sm70, 我想问下能否通过换一个旧的版本来兼容这块卡\n"
        "还是可以通过别的方式"
    )
    assert texts(paste) == paste.split("\n")
