"""Which Pythons the releases of packages take, by the pages of the index: ``release-pythons``.

Pre-releases and withdrawn releases have no row, and releases that name no Python.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packaging.version import Version

    from tools.refresh.index import Release

TABLE = "release-pythons"
PACKAGES = (
    "accelerate", "auto-gptq", "autoawq", "axolotl", "bitsandbytes", "datasets",
    "deepspeed", "diffusers", "einops", "fairscale", "gptqmodel", "huggingface-hub",
    "kernels", "liger-kernel", "lightning", "llamafactory", "megatron-core", "ms-swift",
    "numpy", "openrlhf", "optimum", "peft", "pytorch-lightning", "safetensors",
    "sentence-transformers", "sglang", "timm", "tokenizers", "torchao", "torchmetrics",
    "transformers", "trl", "unsloth", "unsloth-zoo", "verl", "vllm", "xformers",
)  # fmt: skip
"""Packages that printed commands install."""

# >=3.8.1 is told as >=3.8, since logs seldom tell the patch
_MINOR = re.compile(r"(>=?3\.\d{1,2})(?:\.\d{1,2})?")


def told_python(release: Release) -> str:
    """Return what the newest file of a release says of Python; "" where none says it."""
    texts = [file.python for file in release.files if file.python and not file.yanked]
    return texts[-1] if texts else ""


def python_rows(package: str, releases: Mapping[Version, Release]) -> list[str]:
    """Return the rows of a package: each for releases that follow each other and take the same."""
    found = list(_stretches(releases))
    rows = []
    for place, (versions, python) in enumerate(found):
        follows = found[place + 1][0][0] if place + 1 < len(found) else _after(versions[-1])
        if python:
            range_ = f">={versions[0]},<{follows}"
            rows.append(f'  - {{package: {package}, version: "{range_}", python: "{python}"}}\n')
    return rows


def _stretches(releases: Mapping[Version, Release]) -> Iterator[tuple[list[Version], str]]:
    told = [
        (version, _range(told_python(release)))
        for version, release in sorted(releases.items())
        if not version.is_prerelease and not all(file.yanked for file in release.files)
    ]
    for python, same in groupby(told, key=lambda each: each[1]):
        yield [version for version, _ in same], python


def _range(text: str) -> str:
    """Return a specifier as the table writes it, its floor first; "" where it is none."""
    try:
        clauses = [str(each) for each in SpecifierSet(text)]
    except InvalidSpecifier:
        return ""
    kept = (_MINOR.sub(r"\1", c) if c[0] == ">" else c for c in clauses if c[:2] != "!=")
    return ",".join(sorted(kept, key=lambda c: (c[0] != ">", c)))


def _after(version: Version) -> str:
    return f"{version.major}.{version.minor + 1}"
