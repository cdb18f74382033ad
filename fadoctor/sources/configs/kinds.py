"""Frameworks as readers of configurations name them: kinds of files, and words in them."""

from __future__ import annotations

ACCELERATE = "accelerate"
AXOLOTL = "axolotl"
BITSANDBYTES = "bitsandbytes"
COMFYUI = "comfyui"
DEEPSPEED = "deepspeed"
DIFFUSERS = "diffusers"
LMDEPLOY = "lmdeploy"
LLAMAFACTORY = "llamafactory"
MS_SWIFT = "ms-swift"
OPENRLHF = "openrlhf"
SGLANG = "sglang"
TORCHTUNE = "torchtune"
TRANSFORMERS = "transformers"
UNSLOTH = "unsloth"
VERL = "verl"
VLLM = "vllm"
X_TRANSFORMERS = "x-transformers"

FLASH_ATTN = "flash_attn"
"""A key, or the value of one, by which several of them ask for flash-attn."""
