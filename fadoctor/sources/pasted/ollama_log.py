"""The line of Ollama's log about each GPU that it computes on: names and values with ``=``.

msg="inference compute" id=GPU-5c8 library=cuda compute=8.9 driver=12.3 name="NVIDIA L4"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.sources.pasted.sizes import size_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "Ollama's log"

_MARK = '"inference compute"'
_VALUE = compiled(
    r"(?P<key>[a-z_]{2,20})=(?:\"(?P<quoted>[^\"\n]{0,120})\"|(?P<plain>[^\s\"]{1,120}))"
)
_CAPABILITY = compiled(r"\d{1,2}\.\d")
_GFX = compiled(r"gfx[0-9a-f]{3,4}")
_CUDA = compiled(r"\d{2}\.\d{1,2}")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield the GPUs, each once, however often the server was started."""
    indexes: dict[str, int] = {}
    for line in lines:
        if _MARK not in line.text:
            continue
        values = {
            each["key"]: each["quoted"] or each["plain"] or ""
            for each in _VALUE.finditer(line.text)
        }
        library = values.get("library", "").lower()
        if library in ("cuda", "rocm"):
            index = indexes.setdefault(values.get("id", ""), len(indexes))
            yield from _gpu(index, values, line.number)
            if library == "cuda" and _CUDA.fullmatch(values.get("driver", "")):
                yield Claim("driver.cuda", values["driver"], line.number, TOOL)


def _gpu(index: int, values: dict[str, str], line: int) -> Iterator[Claim]:
    compute, at = values.get("compute", ""), f"gpu[{index}]"
    name = values.get("description") or values.get("name", "")
    if re.search(r" \S", name):
        yield from gpu_claims(index, name, line, TOOL)
    if _CAPABILITY.fullmatch(compute):
        yield Claim(f"{at}.compute_capability", compute, line, TOOL)
        yield Claim(f"{at}.vendor", "nvidia", line, TOOL)
    elif _GFX.fullmatch(compute):
        yield Claim(f"{at}.gfx", compute, line, TOOL)
        yield Claim(f"{at}.vendor", "amd", line, TOOL)
    if memory := size_of(values.get("total", "")):
        yield Claim(f"{at}.memory_bytes", memory, line, TOOL)
