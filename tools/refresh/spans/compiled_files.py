"""For which platforms and Pythons releases of compiled packages have files: ``compiled-files``.

Of every release of the index, by the names of its files. Previews and withdrawn releases are left
out.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packaging.tags import Tag
    from packaging.version import Version

    from tools.refresh.index import Release

TABLE = "compiled-files"
PACKAGES = (
    "auto-gptq", "autoawq-kernels", "causal-conv1d", "ctranslate2", "exllamav2", "grpcio", "h5py",
    "llvmlite", "mamba-ssm", "matplotlib", "mmcv", "mmcv-full", "numba", "numpy", "onnxruntime",
    "opencv-python", "opencv-python-headless", "outlines-core", "pandas", "pillow", "psutil",
    "pyarrow", "pyyaml", "ray", "regex", "safetensors", "scikit-image", "scikit-learn", "scipy",
    "sentencepiece", "sgl-kernel", "tiktoken", "tokenizers", "transformer-engine-torch",
    "xgrammar",
)  # fmt: skip
"""Packages whose sources need a compiler of C, Rust or CUDA; of deepspeed's nothing is compiled."""

PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "macosx_arm64", "macosx_x86_64")

_CPYTHON = re.compile(r"cp3(\d{1,2})")

Files = tuple[tuple[tuple[str, ...], str], ...]
"""Platforms and the Pythons of their files, as the table writes them."""


def file_rows(package: str, releases: Mapping[Version, Release]) -> list[str]:
    """Return the rows of a package: each for releases that follow each other with alike files."""
    told = [
        (version, _files(release), any(not file.tags for file in release.files))
        for version, release in sorted(releases.items())
        if not version.is_prerelease and not all(file.yanked for file in release.files)
    ]
    rows = []
    for (files, sdist), same in groupby(told, key=lambda each: each[1:]):
        versions = " ".join(str(version) for version, *_ in same)
        for platforms, pythons in files or (((), ""),):
            place = f'platform: {" ".join(platforms)}, python: "{pythons}"' if platforms else _NONE
            rows.append(
                f'  - {{package: {package}, version: "{versions}", {place}, '
                f"sdist: {str(sdist).lower()}}}\n"
            )
    return rows


_NONE = "platform: none, python: absent"


def _files(release: Release) -> Files:
    """Return the Pythons that a release has files for, by platforms that have them alike."""
    tags = [tag for file in release.files if not file.yanked for tag in file.tags]
    by_pythons: dict[str, list[str]] = {}
    for platform in PLATFORMS:
        if pythons := _pythons(tag for tag in tags if is_on(tag.platform, platform)):
            by_pythons.setdefault(pythons, []).append(platform)
    return tuple((tuple(platforms), pythons) for pythons, platforms in by_pythons.items())


def _pythons(tags: Iterator[Tag]) -> str:
    """Return Pythons as the table writes them: single ones, then ``>=3.9`` of a stable ABI."""
    single: set[int] = set()
    least: set[int] = set()
    for tag in tags:
        match = _CPYTHON.fullmatch(tag.interpreter)
        if match and tag.abi == "abi3":
            least.add(int(match[1]))
        elif match and not tag.abi.endswith("t"):  # cp37-none, too, serves one Python
            single.add(int(match[1]))
        elif tag.interpreter.startswith("py3"):
            least.add(0)
    bound = min(least, default=None)
    words = [f"3.{minor}" for minor in sorted(single) if bound is None or minor < bound]
    if bound is not None:
        words.append(f">=3.{bound}")
    return " ".join(words)


def is_on(tag: str, platform: str) -> bool:
    """Return whether a platform tag is that of a platform, or of all."""
    system, _, machine = platform.partition("_")
    starts = ("manylinux", "linux_") if system == "linux" else (system,)
    if system == "macosx" and tag.startswith(system) and "universal" in tag:
        return machine == "arm64" or tag.endswith(("intel", "universal2"))
    return tag == "any" or (tag.startswith(starts) and tag.endswith(machine))
