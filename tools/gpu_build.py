"""Build flash-attn from a source folder for one architecture and one head dimension.

A whole build takes an hour; this one compiles what the default set of a smoke run calls. All head
dimensions up to 128 go to the kernels for 128, which take smaller ones too where the host side
allots its accumulators for 128; larger ones are refused. Written against the sources of flash-attn
2.8.3.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

HEAD_DIM = "128"
OLDEST = 8
"""Major compute capability from which on flash-attn 2 has kernels."""

# "csrc/flash_attn/src/flash_fwd_hdim96_bf16_sm80.cu",
_SOURCE = re.compile(
    r'^[^\n]*"csrc/flash_attn/src/flash_\w+_hdim(\d+)_\w+\.cu",?[^\n]*\n', re.MULTILINE
)
# #define HEADDIM_SWITCH(HEADDIM, ...)   \
_SWITCH = re.compile(r"#define HEADDIM_SWITCH\(HEADDIM, \.\.\.\)[^\n]*\\\n(?:[^\n]*\\\n)*[^\n]*\n")
_ONE = (
    "#define HEADDIM_SWITCH(HEADDIM, ...) [&] { "
    f"constexpr static int kHeadDim = {HEAD_DIM}; return __VA_ARGS__(); }}()\n"
)
# What allots room for accumulators, and what refuses head dimensions, in flash_api.cpp.
_ROUNDED = re.compile(r"(const int head_size_rounded = )[^;]+;")
_LIMIT = re.compile(r'TORCH_CHECK\(head_size <= 256, "[^"]*"\)')
REFUSAL = f"this build has kernels for head dimensions up to {HEAD_DIM}"


class SourceError(Exception):
    """The folder does not hold what this was written for."""


def reduce(source: Path, folder: Path) -> Path:
    """Copy a source folder and leave one head dimension in it; SourceError where that fails."""
    setup = source / "setup.py"
    switch = source / "csrc" / "flash_attn" / "src" / "static_switch.h"
    calls = source / "csrc" / "flash_attn" / "flash_api.cpp"
    if not (setup.is_file() and switch.is_file() and calls.is_file()):
        raise SourceError(f"{source} holds no source of flash-attn 2")
    copy = folder / "flash-attention"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns(".git", "build", "*.so"))
    kept, dropped = 0, 0

    def keep(match: re.Match[str]) -> str:
        nonlocal kept, dropped
        wanted = match[1] == HEAD_DIM
        kept, dropped = kept + wanted, dropped + (not wanted)
        return match[0] if wanted else ""

    text = _SOURCE.sub(keep, setup.read_text(encoding="utf-8"))
    header, switches = _SWITCH.subn(lambda _: _ONE, switch.read_text(encoding="utf-8"))
    host, rounded = _ROUNDED.subn(rf"\g<1>{HEAD_DIM};", calls.read_text(encoding="utf-8"))
    host, limits = _LIMIT.subn(f'TORCH_CHECK(head_size <= {HEAD_DIM}, "{REFUSAL}")', host)
    if not kept or not dropped or switches != 1 or not rounded or not limits:
        raise SourceError(f"{source} is another flash-attn than this was written for")
    (copy / "setup.py").write_text(text, encoding="utf-8")
    (copy / switch.relative_to(source)).write_text(header, encoding="utf-8")
    (copy / calls.relative_to(source)).write_text(host, encoding="utf-8")
    return copy


def command(python: str, copy: Path, wheels: Path) -> list[str]:
    """Return what builds the wheel, without the network."""
    return [
        python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
        "--no-cache-dir", "--wheel-dir", str(wheels), str(copy),
    ]  # fmt: skip


def hindrance(capability: str) -> str:
    """Return why flash-attn 2 is not built for a GPU, empty where it is."""
    if not capability:
        return "left out: torch tells no compute capability of this GPU"
    if int(capability.partition(".")[0]) < OLDEST:
        return f"left out: flash-attn 2 has no kernels for compute capability {capability}"
    return ""


def environment(capability: str) -> dict[str, str]:
    """Return the variables of the build: one architecture, as many jobs as memory allows."""
    major = capability.partition(".")[0]
    gib = 16
    if sys.platform.startswith("linux"):
        gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    jobs = max(min(os.cpu_count() or 1, gib // 6), 1)
    return {
        **os.environ,
        "FLASH_ATTENTION_FORCE_BUILD": "TRUE",
        "FLASH_ATTN_CUDA_ARCHS": f"{major}0",
        "MAX_JOBS": str(jobs),
        "NVCC_THREADS": "1",
    }


def problem(cells: Any) -> str:
    """Return what a smoke run with the build found wrong, "" where it is as it should be.

    Cells with larger heads than the build has kernels for are refused by it.
    """
    ran = [cell for cell in cells if cell["measured"] != "not_run"]
    failed = [
        f"{cell['dtype']} {cell['case']}: {cell['detail']}"
        for cell in ran
        if cell["measured"] == "failed" and REFUSAL not in cell["message"]
    ]
    return failed[0] if failed else "" if ran else "no cell was run"


def unpack(wheels: Path, site: Path) -> str:
    """Unpack the wheel that was built; return its name, empty where there is none."""
    found = sorted(wheels.glob("flash_attn-*.whl"))
    if not found:
        return ""
    with zipfile.ZipFile(found[-1]) as wheel:
        wheel.extractall(site)
    return found[-1].name
