"""What tags of images say is in them."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.image_tags import tagged


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel", [("torch", "2.6.0+cu124")]),
        (
            "the base is lanternai/lantern-base:main-py3.11-cu124-2.6.0",
            [("torch", "2.6.0+cu124"), ("python", "3.11")],
        ),
        (
            "registry.example:5000/studio/pytorch:2.4.0-py310-cuda12.1.1-devel-ubuntu22.04",
            [("torch", "2.4.0+cu121"), ("python", "3.10")],
        ),
        (
            "hub.example/a/modelscope:ubuntu22.04-cuda12.4.0-py311-torch2.6.0-1.26.0-LLM",
            [("torch", "2.6.0+cu124"), ("python", "3.11")],
        ),
        ("docker run vllm/vllm-openai:v0.8.5.post1", [("vllm", "0.8.5.post1")]),
        ("lmsysorg/sglang:v0.5.3-cu126 hangs", [("sglang", "0.5.3")]),
        ("nvcr.io/nvidia/pytorch:24.05-py3", []),  # no release of PyTorch's own
        ("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04", []),
        ("https://host.example:8080/pytorch:2.6.0", []),
        ("pytorch/pytorch:latest", []),
        ("k8s/py311-tools:1.2.3", []),
    ],
)
def test_an_image_says_what_is_in_it(line: str, found: list[tuple[str, str]]) -> None:
    assert [(each.distribution, each.version) for each in tagged(line)] == found


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch2.4.0+cu121, python3.10", "2.4.0+cu121"),
        ("it runs torch2.9 + cu128.", "2.9+cu128"),
        ("(torch2.2.0+cuda11.8)", "2.2.0+cu118"),
        ("pytorch 2.6.0 (cu124) on a 3090", "2.6.0+cu124"),
        ("PyTorch-2.3.0-cu121", "2.3.0+cu121"),
        ("torch 2.6.0, cuda 12.4", ""),  # a toolkit may be meant
        ("flash_attn-2.8.3+cu12torch2.5cxx11abiFALSE-cp310-cp310-linux_x86_64.whl", ""),
        ("Downloading torch-2.5.1+cu124-cp310-cp310-linux_x86_64.whl", ""),
        ("torch 2.6.0 from whl/cu124", ""),
    ],
)
def test_a_label_apart_from_the_version_is_torchs(line: str, version: str) -> None:
    """torch2.4.0+cu121 without a blank was read as a torch of any CUDA."""
    found = [each.version for each in tagged(line) if each.distribution == "torch"]
    assert found == ([version] if version else [])
