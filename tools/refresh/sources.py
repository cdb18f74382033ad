"""Which package tells about which table: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tools.refresh import derive, derive_hub
from tools.refresh.document import Document
from tools.refresh.index import Index, Release

Deriver = Callable[[Release, Index, Mapping[str, Document]], Iterator[derive.DerivedRow]]


@dataclass(frozen=True)
class Source:
    """A table, a package that tells about it, and how."""

    table: str
    package: str
    derive: Deriver
    grows: frozenset[str] = frozenset()
    """List columns that later uploads lengthen."""


FRAMEWORKS = (
    "auto-gptq", "autoawq", "axolotl", "compressed-tensors", "datasets", "diffusers", "gptqmodel",
    "lightning", "liger-kernel", "llamafactory", "lmdeploy", "ms-swift", "openrlhf", "optimum",
    "pytorch-lightning", "sentence-transformers", "sgl-deep-ep", "sgl-deep-gemm", "sgl-flash-mla",
    "sgl-kernel", "sglang", "sglang-kernel", "timm", "tokenizers", "torchcodec", "torchmetrics",
    "torchtune",
    "verl", "xgrammar",
)  # fmt: skip
"""Packages whose requirements plans see as a resolver sees them; ``--newest 15`` reads so many."""

SOURCES = (
    Source("torch-releases", "torch", derive.torch_releases, frozenset({"python"})),
    Source("torch-builds", "torch", derive.torch_builds),
    # After torch, whose table tells which torch pins a triton.
    Source("triton-releases", "triton", derive.triton_releases, frozenset({"torch"})),
    Source("xformers-releases", "xformers", derive.xformers_releases),
    Source("torchvision-releases", "torchvision", derive.beside_torch),
    Source("torchaudio-releases", "torchaudio", derive.beside_torch),
    Source("transformers-flash-attn", "transformers", derive.transformers_flash_attn),
    Source("transformers-hub-kernels", "transformers", derive_hub.transformers_hub_kernels),
    Source("transformers-hub-branches", "transformers", derive_hub.transformers_hub_branches),
    Source("kernels-releases", "kernels", derive_hub.kernels_releases),
    Source("packages-glibc", "vllm", derive.wheel_glibc),
    Source("packages-glibc", "sglang", derive.wheel_glibc),
    Source("packages-glibc", "triton", derive.wheel_glibc),
    Source("flash-attn-releases", "flash-attn", derive.flash_attn_releases),
    Source("flash-attn-wheel-abi", "flash-attn", derive.only_watched),
    Source("flash-attn-wheel-sm", "flash-attn", derive.only_watched),
    *(Source("framework-releases", name, derive.framework_releases) for name in FRAMEWORKS),
)

PACKAGES = tuple(dict.fromkeys((
    "torch", "torchvision", "torchaudio", "triton", "xformers", "vllm", "transformers",
    "unsloth", "bitsandbytes",
    "flash-attn", "flash-attn-4", "accelerate", "peft", "trl", "deepspeed", "kernels",
    *FRAMEWORKS,
)))  # fmt: skip
"""All that is ever looked up."""
