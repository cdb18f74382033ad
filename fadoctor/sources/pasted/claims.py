"""What a line of a pasted report says, before it is held against the others."""

from __future__ import annotations

import msgspec

from fadoctor.model.fact import Value
from fadoctor.model.packages import TORCH, TRITON
from fadoctor.syntax.patterns import compiled

RUNTIME = "torch.__version__"
"""What torch says of itself; its metadata can lack the label of the build."""

INSTALLER = "torch.installer"
"""Who installed torch, as far as the list that names it tells: pip, conda."""

AVAILABLE = "cuda.available"
"""That torch has found a GPU."""

CUT_NAME = "cut_name"
"""Of a GPU: the beginning of its name, which a table has cut."""

COMPLETE = "packages.complete"
"""That a list names every package there is."""

OF_CONDA = {"pytorch": TORCH, "pytorch-gpu": TORCH, "torchtriton": TRITON}
"""Names that conda has for what pip calls otherwise."""

NOT_SAID = (
    "Could not collect", "N/A", "None", "Not found", "", "unknown", "not installed", "No CUDA",
)  # fmt: skip


class PastedLine(msgspec.Struct, frozen=True):
    """A line of what was pasted, without quoting, marks and escapes."""

    number: int
    """Counted from 1, in the text as it came."""
    text: str


class Claim(msgspec.Struct, frozen=True):
    """A fact that a line states; None is Absent: the tool looked, and it is not there."""

    name: str
    """Of a fact, of a package (``package:flash-attn``), or of this module's own."""
    value: Value | None
    line: int
    tool: str


# Linux-6.8.0-59-generic-x86_64-with-glibc2.35, Windows-10-10.0.22631-SP0, macOS-15.1-arm64-...
_PLATFORM = compiled(
    r"(?P<os>Linux|Windows|macOS)-(?P<kernel>[\w.+-]{1,80}?)"
    r"(?:-(?P<machine>x86_64|aarch64|arm64|AMD64))?"
    r"(?:-with-glibc(?P<glibc>\d{1,2}\.\d{1,3})|-[\w-]{1,40})?"
)
_WHEEL_PLATFORMS = {
    ("linux", "x86_64"): "linux_x86_64",
    ("linux", "aarch64"): "linux_aarch64",
    ("windows", "amd64"): "win_amd64",
    ("macos", "arm64"): "macosx_arm64",
    ("macos", "x86_64"): "macosx_x86_64",
}


def platform_claims(text: str, line: int, tool: str) -> list[Claim]:
    """Return what Python's name of a platform says of the host."""
    found = _PLATFORM.fullmatch(text.strip())
    if found is None:
        return []
    system = found["os"].lower()
    machine = (found["machine"] or ("amd64" if system == "windows" else "")).lower()
    kernel = found["kernel"].lower()
    said: dict[str, Value | None] = {"host.os": system, **machine_facts(system, machine)}
    if found["glibc"]:
        said |= {"host.glibc": found["glibc"], "host.libc": "glibc"}
    if system == "linux":
        said |= {"host.kernel": found["kernel"], "host.wsl": "microsoft" in kernel}
        said |= {"host.tegra": True} if "tegra" in kernel else {}
    return [Claim(name, value, line, tool) for name, value in said.items()]


def machine_facts(system: str, machine: str) -> dict[str, Value]:
    """Return what the names of a system and its processor say of the wheels that run there."""
    if not machine:
        return {}
    platform = _WHEEL_PLATFORMS.get((system, machine), f"{system}_{machine}")
    return {"host.os": system, "host.machine": machine, "host.platform": platform}


# NVIDIA A100 80GB PCIe, AMD Instinct MI300X (gfx942:sramecc+:xnack-), 8 x NVIDIA L4
_GFX = compiled(r" ?\((gfx[0-9a-f]{3,4})[^)]{0,60}\)?")
_OF_AMD = compiled(
    r"(?:AMD|amd|Amd)\b|ATI\b|[Rr]adeon|RADEON|Instinct|Ryzen|Strix|Vega\b|MI\d{2,3}[AX]?$|gfx\d"
    r"|[Rr][Xx][ -]?[4-9]\d|(?:PRO )?W[5-9]\d{3}\b|[5-9]\d{3} ?(?:XTX?|xtx?|GRE|gre)\b"
    r"|(?:[678][0-9]0M|80[56]0S)\b|R9700"
)
_BOARD_OF_AMD = compiled(
    r"(?i)(?!.{0,60}\b(?:nvidia|geforce|[rg]tx|quadro|tesla)\b)[a-z].{1,40}?"
    r"(?:\bradeon\b|\bamd\b|\brx[ -]?[4-9]\d{2,3}(?!\d)|\b[5-9]\d{3} ?(?:xtx?|gre)\b)"
)
"""A card with its maker in front: Sapphire Nitro+ RX 7900 XTX, GIGABYTE AMD Radeon RX 6650 XT."""
_OF_INTEL = compiled(r"Intel(?:\(R\))? (?:Arc|Data Center GPU)\b|Arc(?:\(TM\))? [AB]\d{2,3}\b")
# NVIDIA GeForce ... | NVIDIA A100-SXM4- | NVIDIA GeForce RTX: a table, or a margin, has cut it
_CUT = compiled(
    r"(?:\.\.\.|\u2026|-|(?<!TITAN )\b(?:RTX|GTX)|\b(?:NVIDIA|GeForce|AMD|Radeon|Tesla))$"
)
_MEMORY = compiled(r" ?\((?:\d{1,4}(?:\.\d{1,3})? ?GB[^)]{0,60}|UUID:[^)]{1,80})\)")


def gpu_claims(
    index: int, name: str, line: int, tool: str, memory: int | None = None
) -> list[Claim]:
    """Return what the name of a GPU says of it; a name that was cut says that there is one."""
    gfx = _GFX.search(name)
    plain = _MEMORY.sub("", _GFX.sub("", name)).strip()
    at = f"gpu[{index}]"
    said: dict[str, Value | None] = {}
    if _CUT.search(plain):
        said[f"{at}.{CUT_NAME}"] = plain.rstrip("-.\u2026 ")[:120]
    elif plain:
        said[f"{at}.name"] = plain[:120]
    is_intel = _OF_INTEL.match(plain)
    is_amd = gfx or _OF_AMD.match(plain) or _BOARD_OF_AMD.match(plain)
    said[f"{at}.vendor"] = "intel" if is_intel else "amd" if is_amd else "nvidia"
    if gfx:
        said[f"{at}.gfx"] = gfx[1]
    if memory:
        said[f"{at}.memory_bytes"] = memory
    return [Claim(key, value, line, tool) for key, value in said.items()]
