"""The faults: each of a kind that the documentation of one of the compared tools names."""

from __future__ import annotations

from bench.peers.planted import Case, Machine, Package, Torch, flash_attn

A100 = Machine("NVIDIA A100-SXM4-80GB", "8.0", "570.124.06", "12.8", 81_920)
RTX_4090 = Machine("NVIDIA GeForce RTX 4090", "8.9", "570.124.06", "12.8")
RTX_5090 = Machine("NVIDIA GeForce RTX 5090", "12.0", "570.124.06", "12.8", 32_607)
V100 = Machine("Tesla V100-SXM2-16GB", "7.0", "570.124.06", "12.8", 16_384)
OLD_DRIVER = Machine("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15", "12.4", 81_920)

_CU128 = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")
TORCH_28 = Torch("2.8.0+cu128", "12.8", "3.4.0", _CU128)
TORCH_26 = Torch("2.6.0+cu124", "12.4", "3.2.0",
                 ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"))  # fmt: skip
TORCH_211 = Torch("2.11.0+cu130", "13.0", "3.6.0",
                  ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"))  # fmt: skip

_RIGHT = flash_attn("2.8.3", "cu12torch2.8cxx11abiTRUE")
_RIG, _ENV, _CUDA, _PIP, _OURS = "rigsolve", "env-doctor", "cuda-doctor", "pip check", "fadoctor"

CASES = (
    Case("healthy", "", "", A100, TORCH_28, _RIGHT),
    Case(
        "wheel of another torch",
        "flash-attn 2.7.3 for torch 2.5 beside torch 2.8",
        r"(?i)flash.attn.*torch|torch.*flash.attn",
        RTX_4090, TORCH_28, flash_attn("2.7.3", "cu12torch2.5cxx11abiFALSE"),
        covered=(_RIG, _OURS),
    ),
    Case(
        "wheel that names another torch",
        "flash-attn 2.8.3+cu128torch2.7, which says so in its version, beside torch 2.8",
        r"(?i)flash.attn.*torch|torch.*flash.attn",
        A100, TORCH_28,
        (_RIGHT[0], Package("flash-attn", "2.8.3+cu128torch2.7", ("torch", "einops"), "flash_attn",
                            _RIGHT[1].extension)),
        covered=(_RIG, _OURS),
    ),
    Case(
        "GPU too old",
        "flash-attn 2.8.3 on a V100",
        r"(?i)compute capability|too old|sm_70|architecture",
        V100, TORCH_28, _RIGHT,
        covered=(_RIG, _OURS),
    ),
    Case(
        "GPU too new",
        "torch 2.6 for CUDA 12.4 on an RTX 5090",
        r"(?i)compute.capability|sm_120|architecture|no kernel|no code for the GPU|mismatch",
        RTX_5090, TORCH_26,
        covered=(_RIG, _ENV, _OURS),
    ),
    Case(
        "driver too old",
        "torch 2.11 for CUDA 13.0 with driver 550",
        r"(?i)driver",
        OLD_DRIVER, Torch(TORCH_211.version, "13.0", "3.6.0", TORCH_211.archs, available=False),
        covered=(_RIG, _ENV, _CUDA, _OURS),
    ),
    Case(
        "CPU build beside a GPU",
        "torch 2.8.0+cpu on an A100",
        r"(?i)\bcpu\b",
        A100, Torch("2.8.0+cpu", None, "3.4.0", (), available=False),
        covered=(_CUDA, _OURS),
    ),
    Case(
        "CUDA majors mixed",
        "flash-attn of CUDA 12 beside torch of CUDA 13",
        r"(?i)flash.attn.*cuda|cuda.*flash.attn|libcudart",
        Machine("NVIDIA A100-SXM4-80GB", "8.0", "580.95.05", "13.0", 81_920), TORCH_211,
        flash_attn("2.8.3", "cu12torch2.8cxx11abiTRUE"),
        covered=(_RIG, _OURS),
    ),
    Case(
        "triton is not the one",
        "triton 3.3.0 beside torch 2.8, which requires 3.4.0",
        r"(?i)triton",
        A100, TORCH_28, (Package("triton", "3.3.0", module="triton"),),
        covered=(_PIP, _OURS),
    ),
    Case(
        "xformers of another torch",
        "xformers 0.0.31 (torch 2.7.1) beside torch 2.8",
        r"(?i)xformers",
        A100, TORCH_28, (Package("xformers", "0.0.31", ("torch==2.7.1",), "xformers",
                                  "xformers/_C.so"),),
        covered=(_PIP, _OURS),
    ),
    Case(
        "a requirement is missing",
        "flash-attn without einops",
        r"(?i)einops",
        A100, TORCH_28, _RIGHT[1:],
        covered=(_PIP, _OURS),
    ),
    Case(
        "CUDA_HOME leads nowhere",
        "CUDA_HOME names a folder that is gone",
        r"CUDA_HOME(?!.*not set)",
        A100, TORCH_28, _RIGHT,
        covered=(_ENV, _CUDA),
        environ={"CUDA_HOME": "{root}/cuda-12.4"},
    ),
    Case(
        "two toolkits disagree",
        "nvcc on PATH is 12.4, CUDA_HOME is 11.8",
        r"(?i)CUDA_HOME(?!.*not set)|resolution conflict",
        A100, TORCH_28, _RIGHT,
        covered=(_ENV, _CUDA),
        environ={"CUDA_HOME": "{root}/cuda-11.8", "PATH": "{root}/cuda-12.4/bin"},
        toolkits=("11.8", "12.4"),
    ),
    Case(
        "two CUDAs on LD_LIBRARY_PATH",
        "the libraries of two toolkits on LD_LIBRARY_PATH",
        r"LD_LIBRARY_PATH(?!.*not (?:set|configured))",
        A100, TORCH_28, _RIGHT,
        covered=(_CUDA,),
        environ={"LD_LIBRARY_PATH": "{root}/cuda-11.8/lib64:{root}/cuda-12.4/lib64"},
        toolkits=("11.8", "12.4"),
    ),
)  # fmt: skip
