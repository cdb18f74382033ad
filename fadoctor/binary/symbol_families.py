"""Which family of libraries a symbol belongs to, by its name."""

from __future__ import annotations

import enum
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.binary.reason import Reason


class Family(enum.Enum):
    """Libraries that are released together. The value is how their sonames begin."""

    TORCH = "libtorch|libc10|libshm"
    PYTHON = "libpython"
    CUDA_DRIVER = "libcuda."
    CUDA_RUNTIME = "libcudart."
    CUBLAS = "libcublas"
    CUDNN = "libcudnn"
    CUFFT = "libcufft"
    CURAND = "libcurand"
    CUSOLVER = "libcusolver"
    CUSPARSE = "libcusparse"
    CUPTI = "libcupti"
    NCCL = "libnccl"
    NVRTC = "libnvrtc"
    NVJITLINK = "libnvJitLink"
    NVTX = "libnvToolsExt"
    NVML = "libnvidia-ml"
    NVSHMEM = "libnvshmem"
    HIP = "libamdhip"
    LIBSTDCXX = "libstdc++|libgcc_s"
    UNKNOWN = ""

    def has(self, soname: str) -> bool:
        """Whether a library is of this family."""
        return bool(self.value) and soname.startswith(tuple(self.value.split("|")))


# Names in C of CUDA 12 and 13 headers, NCCL 2 and HIP 6; names in C++ by their namespace.
_PATTERNS = (
    (Family.TORCH, r"_Z(?:T[ISTV])?N[KVRO]*(?:3c10|2at|5torch|6caffe2)|aoti_torch_|torch_|THP"),
    (Family.PYTHON, r"_?Py[A-Z_]"),
    (Family.CUDA_RUNTIME, r"(?:__)?cuda[A-Z]"),
    (Family.CUBLAS, r"cublas"),
    (Family.CUDNN, r"cudnn"),
    (Family.CUFFT, r"cufft"),
    (Family.CURAND, r"curand"),
    (Family.CUSOLVER, r"cusolver"),
    (Family.CUSPARSE, r"cusparse"),
    (Family.CUPTI, r"cupti"),
    (Family.NCCL, r"p?nccl[A-Z]"),
    (Family.NVRTC, r"nvrtc"),
    (Family.NVJITLINK, r"(?:__)?nvJitLink"),
    (Family.NVTX, r"nvtx"),
    (Family.NVML, r"nvml"),
    (Family.NVSHMEM, r"nvshmem"),
    (Family.HIP, r"(?:__)?hip[A-Z]"),
    (Family.CUDA_DRIVER, r"cu[A-Z]"),
    (Family.LIBSTDCXX, r"_Z(?:T[ISTV])?N?K?S[tsoid]|_ZTVN10__cxx|__cxa_|__gxx_|_Z(?:n[aw]|d[al])"),
)  # fmt: skip


@cache
def _compiled() -> tuple[tuple[Family, re.Pattern[str]], ...]:
    return tuple((family, re.compile(pattern)) for family, pattern in _PATTERNS)


def family_of(symbol: str) -> Family:
    """Return the family of libraries that a symbol belongs to."""
    return next((f for f, pattern in _compiled() if pattern.match(symbol)), Family.UNKNOWN)


_DRIVER_SONAMES = frozenset(
    {
        "libcuda.so.1",
        "libnvidia-ml.so.1",
        "libnvidia-ptxjitcompiler.so.1",
        "libnvcuvid.so.1",
        "libnvidia-encode.so.1",
    }
)
"""Libraries that come with NVIDIA's driver and are therefore absent on a machine without a GPU."""


def is_driver(reason: Reason | None) -> bool:
    """Whether a library of the driver is what is missing."""
    return reason is not None and reason.name in _DRIVER_SONAMES
