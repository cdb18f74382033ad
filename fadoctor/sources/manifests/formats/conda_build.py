"""What the build strings of conda's packages say."""

from __future__ import annotations

import re

# cuda126_py312h_0, py3.11_cuda12.1_cudnn8.9.2_0, *cuda12*
_BUILD_CUDA = re.compile(r"cuda_?([0-9]{2})(?:\.?([0-9]))?(?![0-9])")


def conda_cuda(build: str) -> str:
    """Return the CUDA version that a build string of conda's torch says, "" where it says none."""
    found = _BUILD_CUDA.search(build)
    return f"{found[1]}.{found[2]}" if found and found[2] else ""
