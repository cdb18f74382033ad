"""What the packages of the stack are: names, compiled extensions, roles, tables of releases.

All of it is said in rules/matrix/packages.yaml and rules/matrix/backends.yaml; docs/extending.md
says what a new one needs.
"""

from __future__ import annotations

# Written by tools/write_packages.py, up to the line that says so.
# fmt: off

TORCH = "torch"
"""Code has a case of its own for it: everything is built for it."""

TRITON = "triton"
"""Code has a case of its own for it: each torch pins one release."""

FLASH_ATTN = "flash_attn"
"""Code has a case of its own for it: its files are chosen by torch, CUDA, C++ ABI and Python,
outside of the index.
"""

FLASH_ATTN_3 = "flash_attn_3"
"""Code has a case of its own for it: its files lie on PyTorch's index."""

XFORMERS = "xformers"
"""Code has a case of its own for it: built without CUDA it has no extension."""

TRANSFORMERS = "transformers"
"""Code has a case of its own for it: it loads Hub kernels by itself."""

VLLM = "vllm"
"""Code has a case of its own for it: it computes with its own attention, and its settings say
which.
"""

SGLANG = "sglang"
"""Code has a case of its own for it: it serves, and transformers is its helper."""

LLAMAFACTORY = "llamafactory"
"""Code has a case of its own for it: its settings are lines of YAML."""

KERNELS = "kernels"
"""Code has a case of its own for it: it fetches Hub kernels."""

NUMPY = "numpy"
"""Code has a case of its own for it: packages that are compiled for its version 1 bound it."""

HUGGINGFACE_HUB = "huggingface-hub"
"""Code has a case of its own for it: it decides whether kernels and transformers go together."""

DIFFUSERS = "diffusers"
"""Code has a case of its own for it: it loads a Hub kernel where it is told to."""

AXOLOTL = "axolotl"
"""Code has a case of its own for it: its settings are lines of YAML."""

PACKAGES: dict[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "triton": ("triton", "pytorch-triton", "triton-windows", "pytorch-triton-rocm", "triton-rocm",
        "pytorch-triton-xpu", "triton-xpu"),
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

STACK = frozenset({
    "accelerate", "apex", "bitsandbytes", "causal-conv1d", "deepspeed", "flash-attn",
    "flash-attn-3", "flash-attn-4", "flashattn-hopper", "flashinfer", "flashinfer-python",
    "kernels", "liger-kernel", "llamafactory", "mamba-ssm", "peft", "pytorch-triton",
    "pytorch-triton-rocm", "pytorch-triton-xpu", "sglang", "torch", "torchao", "torchaudio",
    "torchvision", "transformers", "triton", "triton-rocm", "triton-windows", "triton-xpu", "trl",
    "unsloth", "unsloth-zoo", "vllm", "vllm-flash-attn", "x-transformers", "xformers",
})
"""Distributions that lie only where something of the stack does."""

COMPANIONS = frozenset({
    "apache-tvm-ffi", "auto-gptq", "autoawq", "axolotl", "datasets", "diffusers", "evaluate",
    "fa3-fwd", "flashinfer-cubin", "gptqmodel", "huggingface-hub", "kernels-data", "lmdeploy",
    "ms-swift", "nvidia-cutlass-dsl", "open-clip-torch", "openrlhf", "optimum", "quack-kernels",
    "safetensors", "sentence-transformers", "timm", "tokenizers", "torchtune", "verl",
})
"""Distributions that belong to the stack without facts of their own: what they require counts."""

IMPORTS: dict[str, tuple[str, ...]] = {
    "flash_attn_3": ("flash_attn_interface",),
    "flash_attn_4": ("flash_attn.cute",),
}
"""Fact prefix -> the modules that it is imported as, where those have another name."""

EXTENSIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {"binary": ("torch/_C",)},
    "flash_attn": {"binary": ("flash_attn_2_cuda", "flash_attn_cuda", "flash_attn_3_cuda")},
    "flash_attn_3": {"binary": ("flash_attn_3/_C", "flash_attn_3_cuda", "flashattn_hopper_cuda")},
    "xformers": {"binary": ("xformers/_C",), "fa2": ("xformers/_C_flashattention",),
        "fa3": ("xformers/_C_flashattention3",)},
    "vllm": {"binary": ("vllm/_C", "vllm/_C_stable_libtorch"),
        "fa2": ("vllm/vllm_flash_attn/_vllm_fa2_C", "vllm/vllm_flash_attn/vllm_flash_attn_c"),
        "fa3": ("vllm/vllm_flash_attn/_vllm_fa3_C",)},
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
The first file that is there counts. ``binary`` is the extension without which the package
does not work; facts about it are named ``flash_attn.binary.needed``. The ``*`` of
bitsandbytes stands for the CUDA version of torch, as its own loader has it.
"""

LOADS_ALONE = ("triton",)
"""Packages whose extensions are linked to nothing of torch: they load beside any."""

ATTENTION = ("flash_attn", "flash_attn_3", "flash_attn_4", "xformers")
"""Packages that exist for attention on a GPU: without one they may go."""

FRAMEWORKS = ("vllm", "sglang", "unsloth", "llamafactory")
"""What environments exist for: an old release that declares few bounds accepts much, and is no
better for that.
"""

ORDER = (
    "torch", "vllm", "sglang", "unsloth", "llamafactory", "torchvision", "torchaudio", "xformers",
    "triton", "flash_attn", "flash_attn_3", "flash_attn_4",
)
"""The packages that come first in plans: what pins others goes before them."""

AT_ONCE = (
    "torch", "sglang", "triton", "torchvision", "torchaudio", "transformers", "kernels",
    "huggingface-hub",
)
"""What follows from the choice of torch, where it is there or was asked for; kernels of the Hub,
and the library that decides whether they and transformers go together.
"""

REMOVABLE = ("triton", "flash_attn", "flash_attn_3", "flash_attn_4", "xformers")
"""What may go where nothing else helps. Frameworks are why an environment exists: they stay."""

BESIDE_TORCH = ("torchvision", "torchaudio")
"""Packages that are published together with each torch, in the same builds."""

COMPILED_BESIDE = ("vllm", "sglang")
"""Packages whose wheels are compiled against the torch of PyPI: with its CUDA, and no other."""

CORE = frozenset({
    "bitsandbytes", "deepspeed", "flash_attn", "flash_attn_3", "flash_attn_4", "flashinfer",
    "kernels", "sglang", "torch", "transformers", "triton", "vllm", "xformers",
})
"""Packages whose versions a fleet keeps where not all have room."""

RELEASE_TABLES = {
    "torch": "torch-releases",
    "triton": "triton-releases",
    "flash_attn": "flash-attn-releases",
    "flash_attn_4": "flash-attn-4-releases",
    "xformers": "xformers-releases",
    "torchvision": "torchvision-releases",
    "torchaudio": "torchaudio-releases",
    "unsloth": "unsloth-releases",
    "vllm": "vllm-releases",
}
"""Package -> the table whose rows are its releases."""

RELEASES: dict[str, tuple[str, dict[str, str]]] = {
    "flash_attn_4": ("flash-attn-4-releases", {"cutlass_dsl": "nvidia-cutlass-dsl",
        "quack_kernels": "quack-kernels", "tvm_ffi": "apache-tvm-ffi"}),
    "xformers": ("xformers-releases", {"torch": "torch"}),
    "torchvision": ("torchvision-releases", {"torch": "torch"}),
    "torchaudio": ("torchaudio-releases", {"torch": "torch"}),
    "unsloth": ("unsloth-releases", {"torch": "torch", "xformers": "xformers", "triton": "triton",
        "transformers": "transformers", "trl": "trl", "bitsandbytes": "bitsandbytes",
        "unsloth_zoo": "unsloth-zoo"}),
    "vllm": ("vllm-releases", {"torch": "torch", "torchvision": "torchvision",
        "torchaudio": "torchaudio", "xformers": "xformers", "flash_attn": "vllm-flash-attn",
        "flashinfer": "flashinfer-python", "transformers": "transformers"}),
}
"""Package -> its table of releases, and the columns that are requirements -> of what."""

PARTLY: dict[str, tuple[str, dict[str, str]]] = {
    "sglang": ("sglang-releases", {"torch": "torch", "transformers": "transformers"}),
}
"""Packages whose table says what they require of some packages, and not of all that they bring."""

PARTLY_ALONG: dict[str, dict[str, str]] = {
    "sglang": {"flashinfer": "flashinfer-python", "xgrammar": "xgrammar"},
}
"""Package -> more columns of that table: what counts where somebody names it."""

PARTLY_EXTRAS: dict[str, tuple[str, ...]] = {"sglang": ("srt", "all")}
"""Package -> the extras that ask for what its table says of an extra."""

ALWAYS: dict[str, dict[str, str]] = {
    "triton": {},
    "flash_attn": {"torch": "", "einops": ""},
    "flash_attn_3": {"torch": "", "einops": ""},
}
"""Package -> what all its releases require, in any version."""

FRAMEWORK_TABLE = "framework-releases"
"""The table with the releases of several packages."""

TABLED_FRAMEWORKS = ("sglang", "llamafactory")
"""Packages that plans decide about by that table: they decide which torch there is."""

PLANNED = (
    "flash_attn_4", "xformers", "torchvision", "torchaudio", "unsloth", "vllm", "sglang",
    "llamafactory",
)
"""The packages of which plans know the releases, beside torch, triton and files of flash-attn."""

SETUPS = {"flash-attn": "flash-attn-build"}
"""Distribution of which PyPI has sources alone, which are compiled for the torch that is there
-> the table of what its setup imports.
"""

ASKING_SETUPS = ("axolotl",)
"""Distributions whose setup asks for the torch that it sees: table ``sdist-torch`` has the rest."""

NOT_ON_PYTORCH = ("flash-attn",)
"""What PyTorch's own index does not serve, so that it counts for nothing there."""

OWN_PYTHON_RULE = ("flash-attn",)
"""Distributions of whose wheels' Python another rule speaks."""

TRAINERS = ("unsloth", "llamafactory", "trl", "peft")
"""Packages of training, the one first whose settings people write."""

SETTINGS = ("transformers", "vllm", "llamafactory", "unsloth")
"""Packages whose settings a recommendation gives."""

SETTINGS_ON_ROUTES = ("torch", "diffusers", "trl", "axolotl")
"""Those of which there is something to say only where another way to a kernel is recommended."""

ADVISED = ("transformers", "diffusers", "torch")
"""Those for which there is a first advice, and whose attention somebody chooses."""

WORDS = {
    "torch": "torch|pytorch|cuda|gpus?",
    "triton": "triton|inductor",
    "flash_attn": "flash[-_ ]?att\\w{0,8}|fa-?2|flash2",
    "xformers": "xformers|memory[-_ ]efficient",
    "unsloth": "unsloth",
    "transformers": "transformers",
    "bitsandbytes": "bitsandbytes|bnb|4-?bit|8-?bit",
    "vllm": "vllm",
    "sglang": "sglang|sgl[-_]kernel",
}
"""Package -> a pattern of the words by which a complaint is about it."""

BACKENDS = {
    "fa1": "flash_attn",
    "fa2": "flash_attn",
    "fa3": "flash_attn_3",
    "fa4": "flash_attn_4",
    "hub-fa2": "kernels",
    "hub-fa3": "kernels",
    "hub-fa4": "kernels",
    "hub-sage": "kernels",
    "torch-fa3": "flash_attn_3",
    "torch-fa4": "flash_attn_4",
    "sdpa-flash": "torch",
    "sdpa-efficient": "torch",
    "sdpa-cudnn": "torch",
    "sdpa-math": "torch",
    "xformers": "xformers",
    "vllm-fa": "vllm",
    "fa-rotary": "flash_attn",
    "fa-layer-norm": "flash_attn",
    "fa-cross-entropy": "flash_attn",
    "triton": "triton",
    "flex": "torch",
}
"""Attention backend -> the fact prefix of the package that brings it."""

MAIN = (
    "fa1", "fa2", "fa3", "fa4", "sdpa-flash", "sdpa-efficient", "sdpa-cudnn", "sdpa-math",
    "xformers", "vllm-fa", "triton", "flex",
)
"""The backends that a package is installed for, rather than brings beside."""

PREFERRED = (
    "fa3", "hub-fa3", "torch-fa3", "fa2", "hub-fa2", "fa4", "hub-fa4", "torch-fa4", "sdpa-flash",
    "sdpa-efficient", "xformers", "sdpa-math",
)
"""The backends that are recommended, the best first."""

CALLED = {
    "fa1": "FlashAttention-1",
    "fa2": "FlashAttention-2",
    "fa3": "FlashAttention-3",
    "fa4": "FlashAttention-4",
    "hub-fa2": "FlashAttention-2 from the Hub",
    "hub-fa3": "FlashAttention-3 from the Hub",
    "hub-fa4": "FlashAttention-4 from the Hub",
    "hub-sage": "SageAttention from the Hub",
    "torch-fa3": "torch's SDPA on flash-attn-3",
    "torch-fa4": "torch's SDPA on flash-attn-4",
    "sdpa-flash": "torch's own flash attention",
    "sdpa-efficient": "torch's memory-efficient attention",
    "sdpa-cudnn": "torch's cuDNN attention",
    "sdpa-math": "torch's plain attention",
    "vllm-fa": "vLLM's FlashAttention",
}
"""What people call them, where an answer names one."""

# fmt: on
# Up to here it is written by tools/write_packages.py.


_PREFIXES = {name: key for key, names in reversed(PACKAGES.items()) for name in names}


def package_of(distribution: str, otherwise: str = "") -> str:
    """Return the fact prefix of a distribution, `otherwise` where the catalogue has none."""
    return _PREFIXES.get(distribution, otherwise)
