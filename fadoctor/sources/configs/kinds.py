"""Frameworks as readers of configurations name them: kinds of files, and words in them."""

from __future__ import annotations

ACCELERATE = "accelerate"
AXOLOTL = "axolotl"
DEEPSPEED = "deepspeed"
LLAMAFACTORY = "llamafactory"
MS_SWIFT = "ms-swift"
OPENRLHF = "openrlhf"
SGLANG = "sglang"
TORCHTUNE = "torchtune"
TRANSFORMERS = "transformers"
VERL = "verl"
VLLM = "vllm"

FLASH_ATTN = "flash_attn"
"""A key, or the value of one, by which several of them ask for flash-attn."""
