"""Which package tells about which table: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fadoctor.model.packages import RELEASES
from tools.refresh import derive, derive_frameworks, derive_hub, derive_requires
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
    "pytorch-lightning", "sageattention", "sentence-transformers", "sgl-deep-ep", "sgl-deep-gemm",
    "sgl-flash-mla", "sgl-kernel", "sglang", "sglang-kernel", "timm", "tokenizers", "torchcodec",
    "torchmetrics", "torchtune", "verl", "xgrammar",
)  # fmt: skip
"""Packages whose requirements plans see as a resolver sees them; ``--newest 15`` reads so many."""

COMPILED = ("vllm", "xformers", "triton", "bitsandbytes")
"""Packages with compiled files of which it matters for which platforms they are."""

HELPERS = (
    "einops", "typing-extensions", "torch-c-dlpack-ext", "apache-tvm-ffi", "nvidia-cutlass-dsl",
    "quack-kernels", "bitsandbytes", "trl", "unsloth-zoo", "transformers", "accelerate", "peft",
    "kernels", "huggingface-hub", "sympy", "tensordict", "safetensors", "mistral-common",
    "hf-xet", "torchao",
)  # fmt: skip
"""Packages of the table ``helper-releases``."""

DECLARED = (
    "accelerate", "axolotl", "compressed-tensors", "datasets", "diffusers", "huggingface-hub",
    "kernels", "llamafactory", "llmcompressor", "lmdeploy", "ms-swift", "numba", "openrlhf",
    "optimum", "peft", "sentence-transformers", "sglang", "tokenizers", "torch", "transformers",
    "trl", "unsloth", "unsloth-zoo", "verl", "vllm",
)  # fmt: skip
"""Packages of the table ``declared-requirements``."""

DATED = (
    "accelerate", "axolotl", "bitsandbytes", "datasets", "deepspeed", "diffusers",
    "huggingface-hub", "kernels", "llamafactory", "ms-swift", "openrlhf", "peft",
    "sentence-transformers", "sglang", "tokenizers", "torchao", "transformers", "trl", "unsloth",
    "unsloth-zoo", "verl", "vllm",
)  # fmt: skip
"""Packages that require each other in open ranges: it counts when a release was published."""

_OF_FA4 = ("torch", "einops", "typing-extensions", "torch-c-dlpack-ext")


def _both(*names: str) -> dict[str, str]:
    """Return columns that are called as the distributions are."""
    return {name: name for name in names}


SOURCES = (
    Source("torch-releases", "torch", derive.torch_releases, frozenset({"python"})),
    Source("torch-builds", "torch", derive.torch_builds),
    # After torch, whose table tells which torch pins a triton.
    Source("triton-releases", "triton", derive.triton_releases, frozenset({"torch"})),
    Source("xformers-releases", "xformers", derive.xformers_releases),
    Source("torchvision-releases", "torchvision", derive.beside_torch),
    Source("torchaudio-releases", "torchaudio", derive.beside_torch),
    Source("transformers-flash-attn", "transformers", derive.transformers_flash_attn),
    Source(
        "transformers-bitsandbytes", "transformers", derive_frameworks.transformers_bitsandbytes
    ),
    Source("transformers-hub-kernels", "transformers", derive_hub.transformers_hub_kernels),
    Source("transformers-hub-branches", "transformers", derive_hub.transformers_hub_branches),
    Source("kernels-releases", "kernels", derive_hub.kernels_releases),
    Source("packages-glibc", "vllm", derive.wheel_glibc),
    Source("packages-glibc", "sglang", derive.wheel_glibc),
    Source("packages-glibc", "triton", derive.wheel_glibc),
    Source("flash-attn-releases", "flash-attn", derive.flash_attn_releases),
    Source("flash-attn-wheel-abi", "flash-attn", derive.only_watched),
    Source("flash-attn-wheel-sm", "flash-attn", derive.only_watched),
    *(Source("wheel-platforms", name, derive.wheel_platforms) for name in COMPILED),
    *(Source("framework-releases", name, derive.framework_releases) for name in FRAMEWORKS),
    *(Source("release-months", name, derive.release_months) for name in DATED),
    Source("vllm-releases", "vllm", derive_requires.columns(RELEASES["vllm"][1])),
    Source("unsloth-releases", "unsloth", derive_frameworks.unsloth),
    Source(
        "flash-attn-4-releases",
        "flash-attn-4",
        derive_requires.columns(RELEASES["flash_attn_4"][1], others=_OF_FA4),
    ),
    Source("sglang-releases", "sglang", derive_frameworks.sglang),
    Source(
        "trl-requires",
        "trl",
        derive_requires.columns(_both("transformers", "accelerate"), python=False, unbound=">=0"),
    ),
    Source(
        "llamafactory-releases",
        "llamafactory",
        derive_requires.columns(
            _both("torch", "transformers", "accelerate", "peft", "trl", "numpy"),
        ),
    ),
    Source(
        "accelerate-requires",
        "accelerate",
        derive_requires.columns(_both("torch", "numpy"), python=False),
    ),
    Source(
        "peft-requires",
        "peft",
        derive_requires.columns(_both("torch", "accelerate"), python=False),
    ),
    Source(
        "liger-kernel-requires",
        "liger-kernel",
        derive_requires.columns(_both("torch", "triton"), python=False),
    ),
    Source("transformers-releases", "transformers", derive_requires.runtime_minimum),
    Source(
        "transformers-hub-library",
        "transformers",
        derive_requires.columns({"needs": "huggingface-hub"}, python=False),
    ),
    Source("torch-nvidia", "torch", derive_requires.nvidia_libraries),
    Source("bitsandbytes-cuda", "bitsandbytes", derive_requires.bitsandbytes_cuda),
    *(Source("helper-releases", name, derive_requires.lists) for name in HELPERS),
    *(Source("declared-requirements", name, derive_requires.declared) for name in DECLARED),
)

PACKAGES = tuple(dict.fromkeys((
    "torch", "torchvision", "torchaudio", "triton", "xformers", "vllm", "transformers",
    "unsloth", "bitsandbytes",
    "flash-attn", "flash-attn-4", "accelerate", "peft", "trl", "deepspeed", "kernels",
    "megatron-core", "nemo_toolkit", "nvidia-cublas", "nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12",
    "nvidia-cuda-runtime", "nvidia-cudnn-cu13", "nvidia-cufft", "nvidia-cusolver",
    "nvidia-cusparse", "nvidia-nccl-cu13",
    *FRAMEWORKS, *HELPERS, *DECLARED,
)))  # fmt: skip
"""All that is ever looked up."""
