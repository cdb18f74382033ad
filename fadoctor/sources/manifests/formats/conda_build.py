"""What the build strings of conda's packages say."""

from __future__ import annotations

import re

CPU = "cpu"
"""What the build string of a torch without CUDA begins with, after the Python: ``py3.8_cpu_0``."""
# cuda126_py312h_0, py3.11_cuda12.1_cudnn8.9.2_0, *cuda12*
_BUILD_CUDA = re.compile(r"cuda_?([0-9]{2})(?:\.?([0-9]))?(?![0-9])")
# py3.8_cpu_0, cpu_py39h1234567_0, cpu_mkl_py312h_103
_BUILD_CPU = re.compile(r"(?:^|_)cpu(?:_|$)")


def conda_cuda(build: str) -> str:
    """Return the CUDA version that a build string of conda's torch says, "" where it says none."""
    found = _BUILD_CUDA.search(build)
    return f"{found[1]}.{found[2]}" if found and found[2] else ""


def is_cpu(build: str) -> bool:
    """Say whether a build string of conda's torch is that of a build without CUDA."""
    return _BUILD_CPU.search(build) is not None
