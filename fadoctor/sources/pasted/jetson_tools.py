"""``jetson_release`` of jetson-stats: the board, its system and the CUDA of its JetPack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, machine_facts
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.fact import Value

TOOL = "jetson_release"

# - CUDA: 12.6.68 | - Distribution: Ubuntu 22.04 Jammy Jellyfish | - Machine: aarch64
_ROW = compiled(
    r"\s{0,8}[-*]\s{1,4}(?P<key>Module|CUDA|Machine|Distribution|Python):\s{1,4}"
    r"(?P<value>\S[^\n]{0,120})"
)
_SHORT = compiled(r"\d{1,2}\.\d{1,2}(?=\.|$)")
_PYTHON = compiled(r"3\.\d{1,2}\.\d{1,2}$")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what the list says of the board."""
    for line in lines:
        if row := _ROW.fullmatch(line.text):
            for name, value in _said(row["key"], row["value"].strip()).items():
                yield Claim(name, value, line.number, TOOL)


def _said(key: str, value: str) -> dict[str, Value]:
    short = _SHORT.match(value)
    if key == "Module" and "Jetson" in value:
        return {"host.tegra": True}
    if key == "CUDA" and short:
        return {"toolkit.nvcc.version": short[0]}
    if key == "Machine" and value == "aarch64":
        return machine_facts("linux", value)
    if key == "Distribution":
        return {"host.distribution": value}
    return {"python.version": value} if key == "Python" and _PYTHON.match(value) else {}
