"""GPUs of AMD that a program lists with their chips, and the chips that its torch has code for.

No tool prints these lines alone: programs and people write them in one shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "a list of AMD's GPUs"

CODE = "torch.binary.gfx"
"""The chips that torch's own files have code for."""

_CHIP = compiled(r"\bgfx[0-9a-f]{3,4}\b")
# GPU 1: AMD Radeon RX 5700 XT  | gfx1010:xnack-
# Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100)
_LISTED = compiled(
    r"\W{0,8}(?:ROCm )?(?:GPU|Device|device|cuda:)[ #:]?(?P<index>\d{1,2})\]?\s?[:=|]\s{0,4}"
    r"(?P<name>(?:AMD|Radeon)[^|,\n()]{3,50}?)\s{0,8}[|,(]\s{0,4}(?:arch\w{0,9}[:= ]{1,3})?"
    r"(?P<gfx>gfx[0-9a-f]{3,4})\b"
)
# kernels built for: gfx1030, gfx1031 | torch.cuda.get_arch_list() -> ['gfx900', 'gfx1100']
_BUILT = compiled(
    r"\b(?:kernels? (?:are |were )?(?:built|compiled) for|get_arch_list\(\)\)?)"
    r"[^\w\n]{0,12}(?P<list>gfx[^\n]{1,400})?$"
)
_LIST = compiled(r"\W{0,8}(?P<list>gfx[0-9a-f]{3,4}\b[^\n]{0,400})$")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield the GPUs that are listed with a chip, and the chips that torch was compiled for."""
    is_next = False
    for line in lines:
        if found := _LISTED.match(line.text):
            index = int(found["index"])
            yield from gpu_claims(index, found["name"].strip(), line.number, TOOL)
            yield Claim(f"gpu[{index}].gfx", found["gfx"], line.number, TOOL)
        built = _BUILT.search(line.text)
        listed = built["list"] if built else None
        if is_next and not built and (alone := _LIST.fullmatch(line.text)):
            listed = alone["list"]
        is_next = built is not None and not listed
        if listed:
            chips = tuple(dict.fromkeys(_CHIP.findall(listed)))
            yield Claim(CODE, chips, line.number, TOOL)
