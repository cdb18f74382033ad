"""A GPU's memory ran out: because others hold it, or because what was asked for never fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.proof.smoke.events import Memory

# CUDA out of memory. Tried to allocate ... / CUDA error: out of memory
_RAN_OUT = re.compile(r"\bout of memory\b")
# CUDA error: all CUDA-capable devices are busy or unavailable
_BUSY = re.compile(r"\bbusy or unavailable\b")
# CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.69 GiB of ...
_ASKED = re.compile(r"Tried to allocate (\d{1,12}(?:\.\d{1,6})?) ?(bytes|KiB|MiB|GiB|TiB)\b")
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_GIB = 1 << 30


def is_short(text: str) -> bool:
    """Tell whether a text says that the device had no room, or no time, for us."""
    return bool(_RAN_OUT.search(text) or _BUSY.search(text))


def is_too_large(text: str, memory: Memory | None) -> bool:
    """Tell whether what was asked for would not fit into an empty GPU either.

    False where nobody knows how much was asked for, or how much there is.
    """
    asked = _ASKED.search(text)
    if memory is None or asked is None:
        return False
    return float(asked[1]) * _UNITS[asked[2]] + memory.own > memory.total


def describe_room(text: str, memory: Memory | None) -> str:
    """Return in words why there was no room."""
    if is_too_large(text, memory) and memory is not None:
        return f"more was asked for than the GPU has ({_gib(memory.total)})"
    if memory is None or not _RAN_OUT.search(text):
        return "the device is occupied by something else"
    others = max(memory.total - memory.free - memory.own, 0)
    return (
        "the device is occupied by something else: "
        f"{_gib(memory.free)} of {_gib(memory.total)} are free, others hold {_gib(others)}"
    )


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
