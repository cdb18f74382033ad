"""What ComfyUI and its relatives print of the GPU: its memory, and then which it is.

Total VRAM 24564 MB, total RAM 65277 MB            - **Name:** cuda:0 NVIDIA L4 : cudaMallocAsync
Device: cuda:0 NVIDIA GeForce RTX 4090 : native      - **VRAM Total:** 23580639232
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.sources.pasted.sizes import size_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "ComfyUI or a relative"

_TOTAL = compiled(r"Total VRAM (?P<size>\d{3,7} MB), total RAM \d{3,8} MB")
_DEVICE = compiled(
    r"\b(?:Device|Name):\W{0,6}cuda:\d{1,2} (?P<name>[A-Z][\w ./+()-]{2,70}?)"
    r"(?: : \w{1,30})?\s{0,4}$"
)
_REPORTED = compiled(r"\bVRAM Total:\W{0,6}(?P<size>\d{9,14})\s{0,4}$")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield the first GPU; an amount of memory without one is that of the processor."""
    total: int | None = None
    is_named = False
    for line in lines:
        if "Total VRAM" in line.text and (found := _TOTAL.search(line.text)):
            total = size_of(found["size"])
        elif not is_named and (device := _DEVICE.search(line.text)):
            is_named = True
            yield from gpu_claims(0, device["name"], line.number, TOOL, total)
        elif is_named and not total and (told := _REPORTED.search(line.text)):
            total = size_of(told["size"])
            if total:
                yield Claim("gpu[0].memory_bytes", total, line.number, TOOL)
