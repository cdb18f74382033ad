"""``rocm-smi``, ``rocminfo`` and ``amd-smi``: which GPUs of AMD there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.sources.pasted.sizes import size_of
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
# Driver version: 6.8.5 | ROCk module version 6.8.5 is loaded | amdgpu version: 6.12.12
_DRIVER = compiled(
    r"(?:\s{0,8}Driver version:|\bROCk module version|\bamdgpu version:) {1,8}"
    r"(?P<found>\d{1,2}\.\d{1,3}\.\d{1,4})(?![\w.])"
)
# AMDSMI Tool: 25.3.0+ede62f2 | AMDSMI Library version: 25.3.0 | ROCm version: 6.4.0
_ROCM = compiled(r"\| ROCm version: (?P<found>\d{1,2}\.\d{1,2}\.\d{1,2})\b")
#       Segment:                 GLOBAL; FLAGS: COARSE GRAINED
_SEGMENT = compiled(r"\s{0,12}Segment:\s{1,40}GLOBAL; FLAGS: COARSE GRAINED\s{0,8}")
_SIZE = compiled(r"\s{0,12}Size:\s{1,40}(?P<size>\d[^\n]{0,60})")
#     DRIVER: | NAME: amdgpu | VERSION: 6.12.12, of amd-smi static
_VERSION = compiled(r"\s{1,16}VERSION: (?P<found>\d{1,2}(?:\.\d{1,4}){1,3})\s{0,8}")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield names, architectures and memory of the GPUs, the driver and ROCm."""
    agents, asked, named, block = 0, -1, False, ""
    for line in lines:
        text = line.text
        before, block = block, text.strip()
        if found := _SMI.fullmatch(text):
            yield from _of_smi(int(found["index"]), found["key"], found["value"].strip(), line)
        elif agent := _INFO.fullmatch(text):
            yield from _gfx(agents, agent["gfx"], line)
            agents, named = agents + 1, False
        elif (name := _MARKETING.fullmatch(text)) and agents and not named:
            named = True
            yield from _named(agents - 1, name["name"], line)
        elif start := _AMD_SMI.fullmatch(text):
            asked = int(start["index"])
        elif asked >= 0 and (market := _MARKET.fullmatch(text)):
            yield from _named(asked, market["name"].strip(), line)
        elif asked >= 0 and (target := _TARGET.fullmatch(text)):
            yield from _gfx(asked, target["gfx"], line)
        elif agents and (size := _SIZE.fullmatch(text)) and _SEGMENT.fullmatch(before):
            yield from _memory(agents - 1, size["size"], line)
        elif asked >= 0 and before == "NAME: amdgpu" and (version := _VERSION.fullmatch(text)):
            yield Claim("rocm.driver", version["found"], line.number, TOOL)
        else:
            yield from _versions(text, line)


def _memory(index: int, size: str, line: PastedLine) -> Iterator[Claim]:
    if total := size_of(size):
        yield Claim(f"gpu[{index}].memory_bytes", total, line.number, TOOL)


def _versions(text: str, line: PastedLine) -> Iterator[Claim]:
    """Yield the version of the kernel's module, and that of ROCm."""
    if "ersion" not in text:
        return
    for name, form in (("rocm.driver", _DRIVER), ("rocm.version", _ROCM)):
        if found := form.search(text):
            yield Claim(name, found["found"], line.number, TOOL)


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
