"""Write table ``release-pythons`` from the pages of the index: which Pythons a release takes.

Usage: python -m tools.refresh.pythons > rules/matrix/release-pythons.yaml
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tools.refresh.cli import _cache_folder
from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.version import Version

    from tools.refresh.index import Release

PACKAGES = (
    "accelerate", "auto-gptq", "autoawq", "axolotl", "bitsandbytes", "datasets",
    "deepspeed", "diffusers", "einops", "fairscale", "gptqmodel", "huggingface-hub",
    "kernels", "liger-kernel", "lightning", "llamafactory", "megatron-core", "ms-swift",
    "numpy", "openrlhf", "optimum", "peft", "pytorch-lightning", "safetensors",
    "sentence-transformers", "sglang", "timm", "tokenizers", "torchao", "torchmetrics",
    "transformers", "trl", "unsloth", "unsloth-zoo", "verl", "vllm", "xformers",
)  # fmt: skip
# >=3.8.1 is told as >=3.8, since logs seldom tell the patch
_MINOR = re.compile(r"(>=?3\.\d{1,2})(?:\.\d{1,2})?")
HEAD = """\
table: release-pythons
doc: >-
  Which Pythons the releases of a package take: Requires-Python, as the index tells it of each
  release. Releases that follow each other and take the same stand in one row, up to the newest
  one that was seen. Pre-releases and withdrawn releases are left out, and releases that name
  no Python.
keys: {package: word, version: range}
columns: {python: text}
references:
"""


def stretches(releases: dict[Version, Release]) -> Iterator[tuple[list[Version], str]]:
    """Yield releases that follow each other and take the same Pythons."""
    told = [
        (version, python_of(release))
        for version, release in sorted(releases.items())
        if not version.is_prerelease and not all(file.yanked for file in release.files)
    ]
    for python, same in groupby(told, key=lambda each: each[1]):
        yield [version for version, _ in same], python


def python_of(release: Release) -> str:
    """Return the range of Pythons of a release, its floor first; "" where none is told."""
    texts = [file.python for file in release.files if file.python and not file.yanked]
    try:
        clauses = [str(each) for each in SpecifierSet(texts[-1])] if texts else []
    except InvalidSpecifier:
        return ""
    kept = (_MINOR.sub(r"\1", c) if c[0] == ">" else c for c in clauses if c[:2] != "!=")
    return ",".join(sorted(kept, key=lambda c: (c[0] != ">", c)))


def _after(version: Version) -> str:
    return f"{version.major}.{version.minor + 1}"


def main() -> int:
    """Print the table."""
    index = Index(Transport(read_settings(), _cache_folder()), read_settings().indexes)
    rows, references = [], []
    for package in PACKAGES:
        found = list(stretches(index.releases(package)))
        references.append(f'  - {{type: PACKAGE, url: "pkg:pypi/{package}@{found[-1][0][-1]}"}}')
        for place, (versions, python) in enumerate(found):
            follows = found[place + 1][0][0] if place + 1 < len(found) else None
            end = f"<{follows or _after(versions[-1])}"
            if python:
                range_ = f">={versions[0]},{end}"
                rows.append(f'  - {{package: {package}, version: "{range_}", python: "{python}"}}')
    sys.stdout.write(HEAD + "\n".join(references) + "\nverified: source-read\ncomplete: false\n")
    sys.stdout.write("rows:\n" + "\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
