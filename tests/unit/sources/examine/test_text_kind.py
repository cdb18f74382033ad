"""What a pasted text would be as a file, by its content."""

from __future__ import annotations

import pytest

from fadoctor.sources.examine.text_kind import guesses_of, is_issue, without_includes

REQUIREMENTS = "# what we serve\n--extra-index-url https://x.test/simple\ntorch>=2.6\nflash-attn\n"
DOCKERFILE = "# build\nARG TAG=devel\nFROM nvcr.io/nvidia/pytorch:25.01\nRUN pip install x\n"
PYTHON = "import torch\nfrom transformers import AutoModel\n\nAutoModel.from_pretrained('m')\n"
NOTEBOOK = '{"cells": [], "nbformat": 4, "metadata": {}}'


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (REQUIREMENTS, "requirements.txt"),
        ("flash-attn @ https://x.test/flash_attn-2.8.3-cp312.whl\n", "requirements.txt"),
        ("xformers[extra]==0.0.30 ; python_version < '3.13'  # pinned\n", "requirements.txt"),
        ("torch\nflash_attn\ndatasets  # all of them\n", "requirements.txt"),
        ("torch==2.6.0\r\nflash-attn==2.7.3\r\n", "requirements.txt"),
        ('[project]\nname = "x"\ndependencies = ["torch"]\n', "pyproject.toml"),
        ('[tool.poetry.dependencies]\ntorch = "^2.6"\n', "pyproject.toml"),
        ('[[package]]\nname = "torch"\nsource = { registry = "x" }\n', "uv.lock"),
        ("channels:\n  - pytorch\ndependencies:\n  - pytorch=2.6\n", "environment.yml"),
        (DOCKERFILE, "Dockerfile"),
        ("vllm serve m --dtype half\n", "run.sh"),
        ("CUDA_VISIBLE_DEVICES=0 torchrun --nproc-per-node 2 \\\n  train.py --bf16\n", "run.sh"),
        ("#!/bin/bash\nset -e\nwhatever --it is\n", "run.sh"),
        (PYTHON, "train.py"),
        ("from vllm import LLM\nLLM('m')\n", "train.py"),
        ("FROM --platform=linux/amd64 x/y:1 AS build\nRUN pip install z\n", "Dockerfile"),
        ("serve: data\n\tvllm serve m --dtype half\n", "Makefile"),
        ("bf16: true\nattn_implementation: flash_attention_2\n", "config.yaml"),
        ('{"bf16": {"enabled": true}}', "config.json"),
        (NOTEBOOK, "notebook.ipynb"),
    ],
)  # fmt: skip
def test_a_file_is_known_by_its_content(text: str, name: str) -> None:
    assert [guess.name for guess in guesses_of(text)] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n",
        "flash-attn",
        "flash-attn\nbroken",
        "flash-attn\nflash_attn",
        "RuntimeError",
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: x\n',
        "torch==2.6.0\nERROR: No matching distribution found for flash-attn==2.9\n",
        "I tried pip install flash-attn and it fails on my machine\n",
        "the weather is nice today",
    ],
)  # fmt: skip
def test_what_is_no_file_is_a_log(text: str) -> None:
    assert guesses_of(text) == ()


def test_installing_and_configuring_are_told_apart() -> None:
    [serves] = guesses_of("vllm serve m\n")
    [both] = guesses_of("pip install vllm==0.15.0\nvllm serve m\n")
    assert (serves.asks_for_packages, serves.configures) == (False, True)
    assert (both.asks_for_packages, both.configures) == (True, True)


def test_files_that_were_not_pasted_are_left_out_on_their_lines() -> None:
    text, found = without_includes("-r base.txt\ntorch\n--constraint c.txt\n")
    assert found
    assert text == "# -r base.txt\ntorch\n# --constraint c.txt\n"
    assert without_includes(REQUIREMENTS) == (REQUIREMENTS, False)


def test_markdown_is_written_for_people() -> None:
    assert is_issue("### Describe the bug\nIt fails.\n")
    assert is_issue("It says\n```\nRuntimeError: x\n```\n")
    assert not is_issue("RuntimeError: x\n# not a heading of an issue".replace("# ", "#"))


def test_a_long_text_is_recognised_in_bounded_time() -> None:
    """Backtracking over many words without an end would take minutes."""
    assert guesses_of("A" * 200_000 + " = " * 50_000) == ()
    assert guesses_of("ARG x\n" * 50_000) in ((), guesses_of("ARG x\n" * 300))
