"""``rocm-smi``, ``rocminfo`` and ``amd-smi``: which GPUs of AMD there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "a tool of ROCm"

# GPU[0]		: Card Series: 		AMD Instinct MI210 | GPU[0] : GFX Version: gfx90a
_SMI = compiled(
    r"\s{0,8}GPU\[(?P<index>\d{1,2})\]\s{0,12}: (?P<key>Card [Ss]eries|Card [Mm]odel|GFX Version"
    r"|Device Name):\s{1,20}(?P<value>\S[^\n]{0,80})"
)
# Name:                    gfx942 | Marketing Name:          AMD Instinct MI300X
_INFO = compiled(r"\s{0,8}Name:\s{1,40}(?P<gfx>gfx[0-9a-f]{3,4})\s{0,8}")
_MARKETING = compiled(r"\s{0,8}Marketing Name:\s{1,40}(?P<name>\S[^\n]{0,80}?)\s{0,8}")
# GPU: 0 | MARKET_NAME: AMD Instinct MI300X | TARGET_GRAPHICS_VERSION: gfx942
_AMD_SMI = compiled(r"\s{0,4}GPU: (?P<index>\d{1,2})\s{0,4}")
_MARKET = compiled(r"\s{1,16}MARKET_NAME: (?P<name>\S[^\n]{0,80})")
_TARGET = compiled(r"\s{1,16}TARGET_GRAPHICS_VERSION: (?P<gfx>gfx[0-9a-f]{3,4})\s{0,8}")
_GFX = compiled(r"gfx[0-9a-f]{3,4}")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield names and architectures of the GPUs."""
    agents, asked, named = 0, -1, False
    for line in lines:
        text = line.text
        if found := _SMI.fullmatch(text):
            yield from _of_smi(int(found["index"]), found["key"], found["value"].strip(), line)
        elif agent := _INFO.fullmatch(text):
            yield from _gfx(agents, agent["gfx"], line)
            agents, named = agents + 1, False
        elif (name := _MARKETING.fullmatch(text)) and agents and not named:
            named = True
            yield from _named(agents - 1, name["name"], line)
        elif block := _AMD_SMI.fullmatch(text):
            asked = int(block["index"])
        elif asked >= 0 and (market := _MARKET.fullmatch(text)):
            yield from _named(asked, market["name"].strip(), line)
        elif asked >= 0 and (target := _TARGET.fullmatch(text)):
            yield from _gfx(asked, target["gfx"], line)


def _of_smi(index: int, key: str, value: str, line: PastedLine) -> Iterator[Claim]:
    if key == "GFX Version" and _GFX.fullmatch(value):
        yield from _gfx(index, value, line)
    elif key.lower() == "card series" or key == "Device Name":
        yield from _named(index, value, line)


def _named(index: int, name: str, line: PastedLine) -> Iterator[Claim]:
    """Yield the name of a GPU; whatever it is called, it is one of AMD."""
    for claim in gpu_claims(index, name, line.number, TOOL):
        yield Claim(claim.name, "amd" if claim.name.endswith(".vendor") else claim.value,
                    claim.line, claim.tool)  # fmt: skip


def _gfx(index: int, gfx: str, line: PastedLine) -> Iterator[Claim]:
    yield Claim(f"gpu[{index}].gfx", gfx, line.number, TOOL)
    yield Claim(f"gpu[{index}].vendor", "amd", line.number, TOOL)
