"""The packages of the stack, and their compiled extensions: what is looked for."""

from __future__ import annotations

PACKAGES: dict[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "triton": (
        "triton",
        "pytorch-triton",
        "triton-windows",
        "pytorch-triton-rocm",
        "triton-rocm",
        "pytorch-triton-xpu",
        "triton-xpu",
    ),
    "flash_attn": ("flash-attn",),
    "flash_attn_3": ("flash-attn-3", "flashattn-hopper"),
    "flash_attn_4": ("flash-attn-4",),
    "xformers": ("xformers",),
    "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "unsloth": ("unsloth",),
    "unsloth_zoo": ("unsloth-zoo",),
    "transformers": ("transformers",),
    "accelerate": ("accelerate",),
    "peft": ("peft",),
    "trl": ("trl",),
    "bitsandbytes": ("bitsandbytes",),
    "deepspeed": ("deepspeed",),
    "vllm": ("vllm",),
    "vllm_flash_attn": ("vllm-flash-attn",),
    "sglang": ("sglang",),
    "llamafactory": ("llamafactory",),
    "x_transformers": ("x-transformers",),
    "liger_kernel": ("liger-kernel",),
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "kernels": ("kernels",),
    "causal_conv1d": ("causal-conv1d",),
    "mamba_ssm": ("mamba-ssm",),
    "apex": ("apex",),
    "torchao": ("torchao",),
    "einops": ("einops",),
    "numpy": ("numpy",),
}
"""Fact prefix -> distributions (normalised names) that can provide it, the usual one first.

Packages are known by *distribution*: flash-attn-4 imports as ``flash_attn`` too.
"""

BYSTANDERS = frozenset({"einops", "numpy"})
"""Packages that lie in environments without anything of the stack, too."""

STACK = frozenset(
    name for key, names in PACKAGES.items() if key not in BYSTANDERS for name in names
)
"""Distributions that lie only where something of the stack does."""

COMPANIONS = frozenset({
    "apache-tvm-ffi", "auto-gptq", "autoawq", "axolotl", "datasets", "diffusers", "evaluate",
    "flashinfer-cubin", "gptqmodel", "huggingface-hub", "lmdeploy", "ms-swift",
    "nvidia-cutlass-dsl", "open-clip-torch", "openrlhf", "optimum", "quack-kernels", "safetensors",
    "sentence-transformers", "timm", "tokenizers", "torchtune", "verl",
})  # fmt: skip
"""Distributions that belong to the stack without facts of their own: what they require counts."""

EXTENSIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {"binary": ("torch/_C",)},
    "flash_attn": {"binary": ("flash_attn_2_cuda", "flash_attn_cuda", "flash_attn_3_cuda")},
    "flash_attn_3": {"binary": ("flash_attn_3/_C", "flash_attn_3_cuda", "flashattn_hopper_cuda")},
    "xformers": {
        "binary": ("xformers/_C",),
        "fa2": ("xformers/_C_flashattention",),
        "fa3": ("xformers/_C_flashattention3",),
    },
    "vllm": {
        "binary": ("vllm/_C", "vllm/_C_stable_libtorch"),
        "fa2": (
            "vllm/vllm_flash_attn/_vllm_fa2_C",
            "vllm/vllm_flash_attn/vllm_flash_attn_c",
        ),
        "fa3": ("vllm/vllm_flash_attn/_vllm_fa3_C",),
    },
    "vllm_flash_attn": {"binary": ("vllm_flash_attn_2_cuda", "vllm_flash_attn_c")},
    "bitsandbytes": {"binary": ("bitsandbytes/libbitsandbytes_cuda*",)},
    "triton": {"binary": ("triton/_C/libtriton",)},
    "causal_conv1d": {"binary": ("causal_conv1d_cuda",)},
    "mamba_ssm": {"binary": ("selective_scan_cuda",)},
    "apex": {"binary": ("amp_C", "fused_layer_norm_cuda")},
    "flashinfer": {"binary": ("flashinfer/_kernels", "flashinfer/_prefill_kernels")},
    "torchvision": {"binary": ("torchvision/_C",)},
    "torchaudio": {"binary": ("torchaudio/lib/libtorchaudio",)},
}
"""Fact prefix -> its compiled extensions: name -> files, below an import folder, without suffix.

The first file that is there counts. ``binary`` is the extension without which the package does not
work; facts about it are named ``flash_attn.binary.needed``. The ``*`` of bitsandbytes stands for
the CUDA version of torch, as its own loader has it.
"""


def package_of(distribution: str, otherwise: str = "") -> str:
    """Return the fact prefix of a distribution, `otherwise` where the catalogue has none."""
    return next((key for key, names in PACKAGES.items() if distribution in names), otherwise)
