"""``python -m xformers.info``: what xformers says of itself, torch and the first GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import AVAILABLE, RUNTIME, Claim, PastedLine, gpu_claims
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "xformers.info"

# xFormers 0.0.28.post3
_FIRST = compiled(r"xFormers (?P<version>\d[\w.+-]{0,60})")
# pytorch.version:                                   2.0.1+cu118
_ROW = compiled(r"(?P<key>[a-z][\w.]{2,40}):\s{2,60}(?P<value>\S[^\n]{0,120})")
_CAPABILITY = compiled(r"\d{1,2}\.\d")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what the page of xformers says of itself, torch and the first GPU."""
    inside = False
    for line in lines:
        text = line.text.strip()
        if first := _FIRST.fullmatch(text):
            inside = True
            yield Claim("package:xformers", first["version"], line.number, TOOL)
        row = _ROW.fullmatch(text) if inside else None
        if row is None:
            continue
        match row["key"]:
            case "pytorch.version":
                yield Claim(RUNTIME, row["value"], line.number, TOOL)
            case "pytorch.cuda" if row["value"] == "available":
                yield Claim(AVAILABLE, True, line.number, TOOL)
            case "gpu.compute_capability" if _CAPABILITY.fullmatch(row["value"]):
                yield Claim("gpu[0].compute_capability", row["value"], line.number, TOOL)
            case "gpu.name":
                yield from gpu_claims(0, row["value"], line.number, TOOL)
            case _:
                pass
