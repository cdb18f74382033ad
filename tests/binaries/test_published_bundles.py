"""Code objects for AMD's GPUs in published wheels, by us and by the headers of their bundles.

The other reader looks for bundles in all bytes of a file, knows no wrapper, and unpacks with
zlib and the program `zstd`.
"""

from __future__ import annotations

import fnmatch
import re
import shutil
import struct
import subprocess
import zlib
from typing import TYPE_CHECKING, NamedTuple

import pytest
from packaging.version import Version

from fadoctor.binary.offload import read_offload
from tests.binaries.pe.published import index_in
from tests.unit.binary.offload_builder import bundle, library, packed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tools.refresh.index import Index


class Wheel(NamedTuple):
    """A wheel, and its libraries with code for AMD's GPUs."""

    package: str
    version: str
    ending: str
    pattern: str


LIMIT = 256 << 20
"""Bytes of a library. Packed they are a tenth of that."""
LINUX = "x86_64.whl"
WHEELS = (
    *(
        Wheel("bitsandbytes", version, LINUX, "*rocm*.so")
        for version in ("0.49.0", "0.49.1", "0.49.2", "0.50.0", "0.50.1", "0.50.2")
    ),
    Wheel("bitsandbytes", "0.50.2", "win_amd64.whl", "*rocm*.dll"),
    Wheel("cupy-rocm-5-0", "13.3.0", f"cp39-cp39-manylinux2014_{LINUX}", "*/cub.*.so"),
    Wheel("cupy-rocm-7-0", "14.2.0", f"cp312-cp312-manylinux2014_{LINUX}", "*/thrust.*.so"),
    Wheel("jax-rocm60-plugin", "0.5.0", f"cp312-cp312-manylinux_2_28_{LINUX}", "*.so"),
    Wheel("jax-rocm7-plugin", "0.12.0", f"cp312-cp312-manylinux_2_27_{LINUX}", "*.so"),
    Wheel("ftllm-rocm", "0.1.5.1", LINUX, "*/libfastllm_tools.so"),
    Wheel("hip-quant", "2.2.4.post215", "cp312-cp312-win_amd64.whl", "*hip_quantize*.dll"),
)
_TARGET = re.compile(r"hip.*--?(gfx[0-9a-z-]+)")


def headers(data: bytes) -> Iterator[frozenset[str]]:
    """Yield the GPUs of each bundle that the bytes of a file hold."""
    for match in re.finditer(rb"__CLANG_OFFLOAD_BUNDLE__", data):
        yield told(data[match.start() :])
    for match in re.finditer(rb"CCOB[\1\2\3]\0[\0\1]\0", data):
        _, version, method = struct.unpack_from("<4sHH", data, match.start())
        body = data[match.start() + 8 + {1: 12, 2: 16, 3: 24}[version] :]
        yield told(unpacked(body, method))


def unpacked(body: bytes, method: int) -> bytes:
    """Return what a bundle begins with."""
    if method == 0:
        return zlib.decompressobj().decompress(body, 1 << 16)
    with subprocess.Popen(
        ["zstd", "-dcq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        found, _ = process.communicate(body[: 16 << 20])
    return found[: 1 << 16]


def told(content: bytes) -> frozenset[str]:
    """Return the GPUs with code that the entries of a bundle name."""
    (count,) = struct.unpack_from("<Q", content, 24)
    place, found = 32, set()
    for _ in range(count):
        _, size, length = struct.unpack_from("<QQQ", content, place)
        name = content[place + 24 : place + 24 + length].decode()
        place += 24 + length
        match = _TARGET.match(name.partition(":")[0])
        if match and size:
            found.add(match[1])
    return frozenset(found)


def both(path: Path) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """Return what we read of a library, and what its bytes hold, each different set once."""
    ours = {frozenset(each.targets) for each in read_offload(path).bundles}
    theirs = set(headers(path.read_bytes()))
    return sorted(ours - {frozenset()}, key=sorted), sorted(theirs - {frozenset()}, key=sorted)


def test_both_readers_agree_about_a_made_library(tmp_path: Path) -> None:
    one = bundle("gfx90a:sramecc+:xnack-", "gfx942")
    for data in (library(one, bundle("gfx1100")), library(packed(one, 2))):
        path = tmp_path / "made.so"
        path.write_bytes(data)
        ours, theirs = both(path)
        assert ours == theirs != []


def files(index: Index, wanted: Wheel, folder: Path) -> Iterator[Path]:
    """Fetch the libraries of a wheel, by ranges."""
    release = index.releases(wanted.package)[Version(wanted.version)]
    [file, *_] = [file for file in release.files if file.name.endswith(wanted.ending)]
    wheel = index.wheel(file)
    for name, size in sorted(wheel.names.items()):
        if fnmatch.fnmatchcase(name, wanted.pattern) and size < LIMIT:
            path = folder / f"{file.name}__{name.replace('/', '__')}"
            path.write_bytes(b"".join(wheel.chunks(name, LIMIT)))
            yield path


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the program zstd")
@pytest.mark.parametrize("wanted", WHEELS, ids=lambda each: f"{each.package}-{each.version}")
def test_published_libraries_have_the_code_that_their_headers_name(
    tmp_path: Path, wanted: Wheel
) -> None:
    told_of = 0
    for path in files(index_in(tmp_path), wanted, tmp_path):
        ours, theirs = both(path)
        assert ours == theirs, path.name
        told_of += bool(ours)
        path.unlink()
    assert told_of
