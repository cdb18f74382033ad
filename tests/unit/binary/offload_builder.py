"""Hand-assembled bundles of code for AMD's GPUs, and texts that were packed by the zstd command."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

from tests.unit.binary.fatbin_builder import elf

WRAPPER = 0x48495046
VECTORS = Path(__file__).with_name("zstd_vectors.json")


def entries(*names: str, empty: tuple[str, ...] = ("host-x86_64-unknown-linux-gnu-",)) -> bytes:
    """Return a bundle: entries that hold nothing, then those that hold 64 bytes each."""
    out = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(empty) + len(names))
    place = 4096
    for name in (*empty, *names):
        size = 64 * (name in names)
        out += struct.pack("<QQQ", place, size, len(name)) + name.encode()
        place += 4096 * bool(size)
    return out.ljust(4096, b"\0") + b"code" * 40


def bundle(*targets: str) -> bytes:
    """Return a bundle for some GPUs."""
    return entries(*(f"hipv4-amdgcn-amd-amdhsa--{target}" for target in targets))


def packed(content: bytes, version: int = 2, method: int = 0) -> bytes:
    """Return a bundle compressed by zlib, or what is handed in as compressed already."""
    body = zlib.compress(content) if method == 0 else content
    number = "<Q" if version > 2 else "<I"
    total = 8 + {1: 12, 2: 16, 3: 24}[version] + len(body)
    sizes = struct.pack(number, total) if version > 1 else b""
    sizes += struct.pack(number, len(content)) + bytes(8)
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + body


def library(*bundles: bytes, relocated: int = 0) -> bytes:
    """Return a library that registers bundles."""
    wrappers = [(1, part) for part in range(len(bundles))]
    data = elf(*bundles, wrappers=wrappers, relocated=relocated)
    return data.replace(struct.pack("<II", 0x466243B1, 1), struct.pack("<II", WRAPPER, 1))


def text(kind: str) -> bytes:
    """Return one of the texts of the vectors; each is made anew by a generator of its own."""
    seed, out = 12345, bytearray()
    words = [
        "attention",
        "kernels",
        "of",
        "each",
        "GPU",
        "need",
        "code",
        "for",
        "one",
        "of",
        "many",
        "targets",
        "and",
        "a",
        "dtype",
    ]
    if kind == "bundle":
        return bundle("gfx90a:sramecc+:xnack-", "gfx942", "gfx1100", "gfx1201")
    while len(out) < 6000:
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        if kind == "words":
            out += words[(seed >> 16) % len(words)].encode() + b" "
        elif kind == "skewed":
            out.append(b"aaaabbbcdefgh\0"[(seed >> 16) % 14])
        elif kind == "noise":
            out.append(seed >> 16 & 0xFF)
        else:
            out += struct.pack("<HBx", seed >> 20 & 0x3F, 7)
    return bytes(out)


KINDS = ("bundle", "words", "skewed", "noise", "structs")


def vectors() -> dict[str, bytes]:
    """Return kind and level -> what the zstd command made of that text."""
    said = json.loads(VECTORS.read_text(encoding="utf-8"))
    return {name: bytes.fromhex(value) for name, value in said.items()}
