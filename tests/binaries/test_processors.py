"""Folders and cache entries for some processors, in trees whose processor is known or is not."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.capability_folders import capability_folders
from fadoctor.binary.header import Machine
from fadoctor.binary.ld_cache import LdCache
from fadoctor.binary.processor import Processor, possible_processors, read_processor
from fadoctor.binary.reason import ReasonKind
from tests.binaries.elf_writer import Spec, Symbol
from tests.binaries.forge import offers
from tests.binaries.system import LOADER, System

if TYPE_CHECKING:
    from pathlib import Path

    from tests.binaries.forge import Forge

V2 = "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma abm movbe"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"
NAMED = b"--glibc-hwcaps-mask"
CHECKS = b"CPU ISA level is lower than required"
BOTH = NAMED + b"\0Legacy HWCAP subdirectories"
OLD = b""


def cpuinfo(flags: str, vendor: str = "AuthenticAMD") -> bytes:
    """Return the first lines that Linux writes."""
    text = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu MHz\t\t: 2.0\nflags\t\t: fpu lm {flags}\n\n"
    return text.encode() * 2


class Tree:
    """A system whose /opt/lib has a library, and others below it for some processors."""

    def __init__(self, root: Path, loader: bytes, flags: str = "") -> None:
        self.system = System(root)
        place = root / LOADER[self.system.machine].lstrip("/")
        place.write_bytes(place.read_bytes() + loader)
        if flags:
            self.system.write("/proc/cpuinfo", cpuinfo(flags))
        imports = (Symbol("wanted"),)
        spec = Spec(needed=("libdep.so",), runpath="/opt/lib", imports=imports)
        self.extension = self.system.put("/venv/ext.so", spec)

    def put(self, folder: str, *symbols: str) -> str:
        """Write a library that has some symbols."""
        exports = tuple(Symbol(name) for name in symbols)
        return self.system.put(f"{folder}/libdep.so", Spec(soname="libdep.so", exports=exports))

    def answer(self) -> tuple[bool | None, ReasonKind | None]:
        """Return whether the extension loads, and what hinders it."""
        found = self.system.predict(self.extension)
        return found.loads, found.reason.kind if found.reason else None


MISSES = (False, ReasonKind.UNDEFINED_SYMBOL)
LOADS = (True, None)
UNSURE = (None, ReasonKind.PROCESSOR_UNKNOWN)


@pytest.mark.parametrize(
    ("loader", "flags", "below", "answer"),
    [
        (NAMED, V4, "glibc-hwcaps/x86-64-v4", LOADS),
        (NAMED, V3, "glibc-hwcaps/x86-64-v4", MISSES),
        (NAMED, V3, "glibc-hwcaps/x86-64-v3", LOADS),
        (NAMED, V2, "glibc-hwcaps/x86-64-v3", MISSES),
        (NAMED, "sse2", "glibc-hwcaps/x86-64-v2", MISSES),
        (OLD, V4, "glibc-hwcaps/x86-64-v2", MISSES),
        (OLD, V2, "tls", LOADS),
        (BOTH, V2, "tls", LOADS),
        (NAMED, V2, "tls", MISSES),
        (BOTH, V2, "x86_64", LOADS),
        (BOTH, V4, "haswell", MISSES),
        (NAMED, "", "glibc-hwcaps/x86-64-v2", UNSURE),
        (BOTH, "", "haswell", UNSURE),
        (BOTH, "", "tls", LOADS),
        (NAMED, "", "glibc-hwcaps/x86-64-v9", MISSES),
    ],
)
def test_folders_for_a_processor(
    tmp_path: Path, loader: bytes, flags: str, below: str, answer: object
) -> None:
    tree = Tree(tmp_path, loader, flags)
    tree.put("/opt/lib", "another")
    tree.put(f"/opt/lib/{below}", "wanted")
    assert tree.answer() == answer


def test_an_unknown_processor_does_not_matter_where_all_answers_agree(tmp_path: Path) -> None:
    tree = Tree(tmp_path, NAMED)
    tree.put("/opt/lib", "wanted")
    tree.put("/opt/lib/glibc-hwcaps/x86-64-v3", "wanted", "more")
    assert tree.answer() == LOADS


def test_default_folders_have_them_too(tmp_path: Path) -> None:
    tree = Tree(tmp_path, NAMED, V3)
    tree.put("/usr/lib", "another")
    tree.put("/usr/lib/glibc-hwcaps/x86-64-v3", "wanted")
    assert tree.answer() == LOADS


Entry = tuple[str, int]
"""A path in the cache, and its hwcap."""
NAMES = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def named(number: int, level: int) -> int:
    """Return the hwcap of an entry for the folder of that number."""
    return (1 << 30 | level) << 32 | number


def cache(*entries: Entry, names: tuple[str, ...] = NAMES) -> bytes:
    """Return a cache with the names of folders in an extension, as ldconfig writes it."""
    start = 48 + 24 * len(entries)
    strings, table = b"libdep.so\0", b""
    for path, hwcap in entries:
        table += struct.pack("<iIIIQ", 0x0303, start, start + len(strings), 0, hwcap)
        strings += path.encode() + b"\0"
    places = []
    for name in names:
        places.append(start + len(strings))
        strings += name.encode() + b"\0"
    strings += bytes(-(start + len(strings)) % 4)
    at = start + len(strings)
    section = struct.pack("<IIII", 1, 0, at + 24, 4 * len(places))
    extension = struct.pack("<II", 0xEAA42174, 1) + section
    extension += struct.pack(f"<{len(places)}I", *places)
    head = struct.pack("<20sIIII12x", b"glibc-ld.so.cache1.1", len(entries), len(strings), 0, at)
    return head + table + strings + extension


PLAIN = ("/opt/plain/libdep.so", 0)
FOR_V3 = ("/opt/named/libdep.so", named(1, 2))


@pytest.mark.parametrize(
    ("loader", "flags", "entries", "answer"),
    [
        (NAMED, V3, (FOR_V3, PLAIN), LOADS),
        (NAMED, V2, (FOR_V3, PLAIN), MISSES),
        (OLD, V3, (FOR_V3, PLAIN), MISSES),
        (NAMED, "", (FOR_V3, PLAIN), UNSURE),
        (NAMED, V3, (("/opt/named/libdep.so", named(1, 3)), PLAIN), MISSES),
        (NAMED, V3, (("/opt/named/libdep.so", named(99, 1)), PLAIN), MISSES),
        (NAMED, V3, (("/opt/tls/libdep.so", 1 << 63), PLAIN), MISSES),
        (BOTH, V3, (("/opt/tls/libdep.so", 1 << 63), PLAIN), LOADS),
        (BOTH, V3, (("/opt/haswell/libdep.so", 1 << 48), PLAIN), MISSES),
    ],
)
def test_entries_of_the_cache(
    tmp_path: Path, loader: bytes, flags: str, entries: tuple[Entry, ...], answer: object
) -> None:
    tree = Tree(tmp_path, loader, flags)
    tree.put("/opt/plain", "another")
    for path, _ in entries[:-1]:
        tree.put(path.rpartition("/")[0], "wanted")
    tree.system.write("/etc/ld.so.cache", cache(*entries))
    assert tree.answer() == answer


def test_an_entry_for_some_processors_alone(tmp_path: Path) -> None:
    tree = Tree(tmp_path, NAMED, V2)
    tree.put("/opt/named", "wanted")
    tree.system.write("/etc/ld.so.cache", cache(FOR_V3))
    assert tree.answer() == (False, ReasonKind.MISSING_SONAME)


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("loader", "flags", "answer"),
    [
        (NAMED + CHECKS, V2, (False, ReasonKind.PROCESSOR_TOO_OLD)),
        (NAMED + CHECKS, V3, LOADS),
        (NAMED + CHECKS, "", UNSURE),
        (OLD, V2, LOADS),
    ],
)
def test_a_level_is_asked_for_by_loaders_that_know_levels(
    tmp_path: Path, forge: Forge, loader: bytes, flags: str, answer: object
) -> None:
    path = forge.library("libdep.so", "void wanted(void) {}", "-nostdlib", "-Wl,-z,x86-64-v3")
    tree = Tree(tmp_path / "root", loader, flags)
    tree.system.write("/opt/lib/libdep.so", path.read_bytes())
    assert tree.answer() == answer


@pytest.mark.gcc
def test_cache_that_ldconfig_writes(forge: Forge) -> None:
    lib = forge.below("usr/lib")
    lib.library("libdep.so.1", offers("a"))
    for level in (2, 3):
        below = lib.below(f"glibc-hwcaps/x86-64-v{level}")
        below.library("libdep.so.1", offers("a"), f"-Wl,-z,x86-64-v{level}")
    forge.below("etc")
    argv = ["/sbin/ldconfig", "-r", str(forge.folder), "-f", "/dev/null", "-X"]
    if subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("ldconfig wants to be root")
    data = (forge.folder / "etc" / "ld.so.cache").read_bytes()
    found = LdCache(data, Machine.X86_64).find("libdep.so.1")
    assert {each.named: each.level for each in found} == {"": 0, "x86-64-v2": 2, "x86-64-v3": 3}
    assert {each.path for each in found if not each.named} == {"/usr/lib/libdep.so.1"}


@pytest.mark.parametrize("end", range(0, 200, 7))
def test_a_cache_that_ends_early(end: int) -> None:
    whole = {each.path for each in LdCache(cache(FOR_V3, PLAIN), Machine.X86_64).find("libdep.so")}
    found = LdCache(cache(FOR_V3, PLAIN)[:end], Machine.X86_64)
    assert {each.path for each in found.find("libdep.so")} <= whole | {""}


@pytest.mark.parametrize(
    ("data", "machine", "processor"),
    [
        (cpuinfo(V4, "GenuineIntel"), Machine.X86_64, (4, "haswell", ("avx512_1", "x86_64"))),
        (cpuinfo(V3, "GenuineIntel"), Machine.X86_64, (3, "haswell", ("x86_64",))),
        (cpuinfo(V4), Machine.X86_64, (4, "x86_64", ("x86_64",))),
        (cpuinfo(V2 + " avx2"), Machine.X86_64, (2, "x86_64", ("x86_64",))),
        (b"Features\t: fp asimd atomics\n", Machine.AARCH64, (0, "aarch64", ("atomics",))),
        (b"Features\t: fp asimd\n", Machine.AARCH64, (0, "aarch64", ())),
        (b"Features\t: fp asimd atomics\n", Machine.X86_64, None),
        (cpuinfo(V4), Machine.AARCH64, None),
        (b"", Machine.X86_64, None),
    ],
)
def test_processors(data: bytes, machine: Machine, processor: tuple[object, ...] | None) -> None:
    found = read_processor(data, machine)
    answer = found and (found.level, found.platform, found.capabilities)
    assert answer == processor


def test_the_order_of_the_older_folders() -> None:
    """As LD_DEBUG=libs of glibc 2.36 prints it."""
    found = capability_folders(Processor(1, "haswell", ("avx512_1", "x86_64")), OLD)
    assert found.old[:5] == (
        "tls/haswell/avx512_1/x86_64",
        "tls/haswell/avx512_1",
        "tls/haswell/x86_64",
        "tls/haswell",
        "tls/avx512_1/x86_64",
    )
    assert found.old[-2:] == ("avx512_1", "x86_64")


@pytest.mark.parametrize("machine", Machine)
def test_possible_processors_differ(machine: Machine) -> None:
    found = possible_processors(machine)
    assert len(set(found)) == len(found) > 1
