"""Which tables say what releases of packages require, and in which columns."""

from __future__ import annotations

RELEASES = {
    "torchvision": ("torchvision-releases", {"torch": "torch"}),
    "torchaudio": ("torchaudio-releases", {"torch": "torch"}),
    "xformers": ("xformers-releases", {"torch": "torch"}),
    "flash_attn_4": (
        "flash-attn-4-releases",
        {
            "cutlass_dsl": "nvidia-cutlass-dsl",
            "quack_kernels": "quack-kernels",
            "tvm_ffi": "apache-tvm-ffi",
        },
    ),
    "vllm": (
        "vllm-releases",
        {
            "torch": "torch",
            "torchvision": "torchvision",
            "torchaudio": "torchaudio",
            "xformers": "xformers",
            "flash_attn": "vllm-flash-attn",
            "flashinfer": "flashinfer-python",
            "transformers": "transformers",
        },
    ),
    "unsloth": (
        "unsloth-releases",
        {
            "torch": "torch",
            "xformers": "xformers",
            "triton": "triton",
            "transformers": "transformers",
            "trl": "trl",
            "bitsandbytes": "bitsandbytes",
            "unsloth_zoo": "unsloth-zoo",
        },
    ),
}
"""Package -> its table of releases, and the columns that are requirements -> of what."""

FRAMEWORK_TABLE = "framework-releases"

FRAMEWORKS = ("sglang", "llamafactory")
"""Packages that plans decide about by the table of frameworks: they decide which torch there is."""

PLANNED = (*RELEASES, *FRAMEWORKS)
"""The packages of which plans know the releases, beside torch, triton and files of flash-attn."""
