"""What the loader takes from the processor: its level, its platform, its old capability names.

x86-64 psABI, "Micro-Architecture Levels"; glibc, ``sysdeps/x86/get-isa-level.h`` and
``cpu_features.c`` (platform, only for Intel's), ``sysdeps/unix/sysv/linux/aarch64`` (atomics).
"""

from __future__ import annotations

import re

import msgspec

from fadoctor.binary.header import Machine

CPUINFO = "/proc/cpuinfo"
CPUINFO_LIMIT = 64 << 10

# flags		: fpu vme de pse tsc msr ... (x86), Features	: fp asimd evtstrm aes (Arm)
_FLAGS = re.compile(r"^(?:flags|Features)\s{0,9}: ([^\n]{1,8192})$", re.MULTILINE)
# As in "vendor_id	: GenuineIntel".
_VENDOR = re.compile(r"^vendor_id\s{0,9}: (\w{1,40})$", re.MULTILINE)
_LEVELS = (
    frozenset(["cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"]),
    frozenset(["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"]),
    frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
)
"""What x86-64-v2, v3 and v4 add, as Linux names it."""
_HASWELL = frozenset(["avx2", "bmi1", "bmi2", "abm", "movbe", "popcnt"])
_XEON_PHI = frozenset(["avx512cd", "avx512er", "avx512pf"])
_AVX512 = frozenset(["avx512cd", "avx512bw", "avx512dq", "avx512vl"])


class Processor(msgspec.Struct, frozen=True):
    """A processor, as the loader sees it."""

    level: int
    """n of x86-64-vn, 1 for the oldest; 0 on other machines, which have no levels."""
    platform: str
    """What $PLATFORM stands for."""
    capabilities: tuple[str, ...] = ()
    """Names of folders that loaders before glibc-hwcaps look into, the most important first."""

    @property
    def isa(self) -> int:
        """Bits of GNU_PROPERTY_X86_ISA_1_NEEDED that it fulfils."""
        return (1 << self.level) - 1


def read_processor(cpuinfo: bytes, machine: Machine) -> Processor | None:
    """Return the processor of a /proc/cpuinfo; None where it tells nothing of that machine."""
    text = cpuinfo.decode("ascii", "replace")
    found = _FLAGS.search(text)
    if found is None:
        return None
    flags = frozenset(found[1].split())
    if machine is Machine.AARCH64:
        atomics = ("atomics",) if "atomics" in flags else ()
        return Processor(0, "aarch64", atomics) if "asimd" in flags else None
    vendor = _VENDOR.search(text)
    if vendor is None or "lm" not in flags:
        return None
    level = 1
    while level <= len(_LEVELS) and _LEVELS[level - 1] <= flags:
        level += 1
    return _x86(level, flags, is_intel=vendor[1] == "GenuineIntel")


def _x86(level: int, flags: frozenset[str], *, is_intel: bool) -> Processor:
    if not is_intel:
        return Processor(level, "x86_64", ("x86_64",))
    is_phi = flags >= _XEON_PHI
    platform = "xeon_phi" if is_phi else "haswell" if flags >= _HASWELL else "x86_64"
    first = ("avx512_1",) if flags >= _AVX512 and not is_phi else ()
    return Processor(level, platform, (*first, "x86_64"))


def possible_processors(machine: Machine) -> tuple[Processor, ...]:
    """Return one processor of each kind that the loader tells apart, the newest first."""
    if machine is Machine.AARCH64:
        return Processor(0, "aarch64", ("atomics",)), Processor(0, "aarch64")
    intel = tuple(
        Processor(level, "haswell", (*(("avx512_1",) if level > 3 else ()), "x86_64"))
        for level in (4, 3)
    )
    phi = Processor(3, "xeon_phi", ("x86_64",))
    return *intel, phi, *(Processor(level, "x86_64", ("x86_64",)) for level in (4, 3, 2, 1))
