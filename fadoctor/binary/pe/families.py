"""Whose library a DLL is, by its name."""

from __future__ import annotations

import enum
import re


class DllFamily(enum.Enum):
    """Who installs a library."""

    VC_RUNTIME = "vc-runtime"
    """Microsoft Visual C++ Redistributable."""
    OPENMP = "openmp"
    """That of Visual C++ for LLVM: Visual Studio has it, its redistributable does not."""
    PYTHON = "python"
    TORCH = "torch"
    CUDA_RUNTIME = "cuda-runtime"
    CUDA_LIBRARY = "cuda-library"
    CUDNN = "cudnn"
    ZLIB = "zlib"
    """zlibwapi.dll, which cuDNN 8 wants and no wheel has."""
    DRIVER = "driver"
    ROCM = "rocm"
    SYSTEM = "system"
    """A set of interfaces that Windows resolves by itself: no file has that name."""
    OTHER = "other"


_CUDA_LIBRARY = (
    r"(?:cublas|cublaslt|cufft|cufftw|curand|cusolver|cusolvermg|cusparse|cupti|nvrtc"
    r"|nvrtc-builtins|nvjitlink|nvtoolsext|nvjpeg)64_\d[\d._]{0,12}|nvjitlink_\d{1,4}_\d"
)
_NAMES = (
    (DllFamily.SYSTEM, r"(?:api|ext)-ms-[\w-]+"),
    (DllFamily.VC_RUNTIME, r"(?:vcruntime|msvcp|concrt|vcomp|vccorlib)\d{2,3}\w{0,20}"),
    (DllFamily.OPENMP, r"libomp140\.\w{3,8}"),
    (DllFamily.PYTHON, r"python\d{1,4}t?(?:_d)?"),
    (DllFamily.TORCH, r"c10|c10_cuda|c10_hip|torch|torch_[a-z]+|caffe2_nvrtc|shm|fbgemm|asmjit|uv"),
    (DllFamily.CUDA_RUNTIME, r"cudart64_\d{1,3}"),
    (DllFamily.CUDNN, r"cudnn\w{0,40}64_\d{1,3}"),
    (DllFamily.CUDA_LIBRARY, _CUDA_LIBRARY),
    (DllFamily.ZLIB, r"zlibwapi"),
    (DllFamily.DRIVER, r"nvcuda|nvml|nvapi64"),
    (DllFamily.ROCM, r"amdhip64\w{0,4}|hip\w{1,20}|roc\w{1,20}|hiprtc\w{1,20}|amd_comgr\w{0,8}"),
)  # fmt: skip
_KNOWN = tuple((family, re.compile(rf"(?:{pattern})\.dll")) for family, pattern in _NAMES)


def family_of_dll(name: str) -> DllFamily:
    """Return whose library that is; OTHER where its name does not tell."""
    lower = name.lower()
    return next((family for family, names in _KNOWN if names.fullmatch(lower)), DllFamily.OTHER)
