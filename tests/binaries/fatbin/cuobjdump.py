"""NVIDIA's own reader of fatbins, and what of its output differs for known reasons."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.binary.fatbin import Role, read_fatbins
from fadoctor.binary.fatbin_image import ImageKind

if TYPE_CHECKING:
    from pathlib import Path

# ELF file    2: _C.2.sm_90a.cubin
_LINE = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.sm_(\d+)([af]?)\.(cubin|ptx)$", re.MULTILINE)

Images = Counter[tuple[str, int, str]]


def dumped(tool: Path, file: Path, *, relocatable: bool = False) -> Images | None:
    """Return kind, architecture and suffix of each image; None where the tool gives up.

    Release 13.5 ends with "Invalid ELF" on cubins of CUDA 12.1. Relocatable containers are listed
    only where they are asked for.
    """
    found: Images = Counter()
    for option in ("-lelf", "-lptx"):
        everything = ["-all"] if relocatable else []
        command = [str(tool), *everything, option, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if "Invalid ELF" in done.stdout + done.stderr:
            return None
        found.update((k, int(n), s) for n, s, k in _LINE.findall(done.stdout))
    return found


def read(file: Path, *, relocatable: bool = False) -> Images:
    """Return the same from fadoctor's reader; LTO is in no list of the tool."""
    return Counter(
        (image.kind.value, image.architecture, image.suffix)
        for container in read_fatbins(file, thorough=True).containers
        if relocatable or container.role is not Role.RELOCATABLE
        for image in container.images
        if image.kind in (ImageKind.CUBIN, ImageKind.PTX)
    )


def without_suffixes(images: Images, kind: str, suffixes: str) -> Images:
    """Return the images without some suffixes of a kind, as some releases print them."""
    found: Images = Counter()
    for (name, number, suffix), count in images.items():
        shown = "" if name == kind and suffix and suffix in suffixes else suffix
        found[name, number, shown] += count
    return found
