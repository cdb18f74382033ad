"""``ds_report`` of DeepSpeed: keys, dots, values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import RUNTIME, Claim, PastedLine
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "ds_report"

# torch version .................... 2.4.0+cu121
_ROW = compiled(r"(?P<key>[a-z][\w. ]{2,40}?) \.{3,60} (?P<value>\S[^\n]{0,200})")
_VERSION = compiled(r"(?P<found>\d{1,5}(?:\.\d{1,5}){1,3}[\w.+-]{0,60})")
_FACTS = {
    "torch version": RUNTIME,
    "torch cuda version": "torch.cuda",
    "torch hip version": "torch.hip",
    "nvcc version": "toolkit.nvcc.version",
    "deepspeed info": "package:deepspeed",
}


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield the versions of the second half of the report."""
    for line in lines:
        row = _ROW.fullmatch(line.text.strip())
        name = _FACTS.get(row["key"]) if row else None
        if row is None or name is None:
            continue
        found = _VERSION.match(row["value"])
        if found is not None:
            yield Claim(name, found["found"], line.number, TOOL)
        elif name == "torch.cuda" and row["value"] == "None":
            yield Claim(name, None, line.number, TOOL)
