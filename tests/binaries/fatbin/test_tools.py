"""Fatbins that NVIDIA's own tools make: nvFatbin's library, and nvcc where it is at hand."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.fatbin import Role, read_fatbins
from fadoctor.binary.fatbin_image import Compression, ImageKind
from tests.binaries.fatbin.cuobjdump import dumped, read
from tests.binaries.fatbin.wheels import files_of
from tests.unit.binary.fatbin_builder import elf

if TYPE_CHECKING:
    from pathlib import Path

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")


pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def nvfatbin(wheels: Path) -> ctypes.CDLL:
    """Return NVIDIA's library that makes fatbins."""
    (library,) = files_of("nvidia-nvfatbin==13.5.37", "*/libnvfatbin.so.*", wheels)
    return ctypes.CDLL(str(library))


def make(library: ctypes.CDLL, *sources: tuple[str, str], options: tuple[str, ...] = ()) -> bytes:
    """Return a container of PTX for some targets: (ISA, target)."""
    handle = ctypes.c_void_p()
    words = [b"-64", *(option.encode() for option in options)]
    array = (ctypes.c_char_p * len(words))(*words)
    assert library.nvFatbinCreate(ctypes.byref(handle), array, ctypes.c_size_t(len(words))) == 0
    for isa, target in sources:
        text = f".version {isa}\n.target sm_{target}\n.address_size 64\n.entry k() {{ ret; }}\n"
        data = text.encode() + b"\0"
        size = ctypes.c_size_t(len(data))
        assert library.nvFatbinAddPTX(handle, data, size, target.encode(), b"k", None) == 0
    size = ctypes.c_size_t()
    assert library.nvFatbinSize(handle, ctypes.byref(size)) == 0
    buffer = ctypes.create_string_buffer(size.value)
    assert library.nvFatbinGet(handle, buffer) == 0
    library.nvFatbinDestroy(ctypes.byref(handle))
    return buffer.raw


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "compression"),
    [((), Compression.ZSTD), (("-compress=false",), Compression.NONE)],
)
def test_what_nvfatbin_makes(
    nvfatbin: ctypes.CDLL, tmp_path: Path, options: tuple[str, ...], compression: Compression
) -> None:
    sources = [("7.8", "75"), ("8.4", "90a"), ("9.0", "100f"), ("8.8", "120")]
    made = make(nvfatbin, *sources, options=options)
    file = tmp_path / "made.so"
    file.write_bytes(elf(made, wrappers=[(1, 0)]))
    (one,) = read_fatbins(file).containers
    assert [(i.kind, i.target, i.version) for i in one.images] == [
        (ImageKind.PTX, "7.5", (7, 8)),
        (ImageKind.PTX, "9.0a", (8, 4)),
        (ImageKind.PTX, "10.0f", (9, 0)),
        (ImageKind.PTX, "12.0", (8, 8)),
    ]
    assert {i.compression for i in one.images} == {compression}


KERNEL = "__global__ void kernel_{0}(float *p) {{ p[0] += {0}; }}\n"
CALLER = "extern __device__ float twice(float);\n" + KERNEL.replace("+= {0}", "= twice(p[0])")
CALLED = "__device__ float twice(float x) {{ return x * 2; }}\n"
GENCODE = [
    f"-gencode=arch=compute_{virtual},code={real}"
    for virtual, real in [
        ("80", "sm_80"), ("90a", "sm_90a"), ("100f", "sm_100f"), ("90", "compute_90"),
    ]
]  # fmt: skip


def nvcc(folder: Path, *words: str) -> None:
    command = ["nvcc", "-Xcompiler", "-fPIC", *words]
    subprocess.run(command, check=True, cwd=folder, capture_output=True, timeout=300)


def compile_one(folder: Path, name: str, source: str, *words: str) -> str:
    """Return the object file of one source."""
    (folder / f"{name}.cu").write_text(source.format(len(name)))
    nvcc(folder, "-c", f"{name}.cu", "-o", f"{name}.o", *words)
    return f"{name}.o"


@needs_nvcc
@pytest.mark.slow
@pytest.mark.thinned(every=2)
@pytest.mark.parametrize("mode", ["none", "size", "speed", "balance"])
def test_what_nvcc_makes(tmp_path: Path, mode: str) -> None:
    part = compile_one(tmp_path, "a", KERNEL, *GENCODE, f"--compress-mode={mode}")
    nvcc(tmp_path, "-shared", part, "-o", "library.so")
    found = read_fatbins(tmp_path / "library.so")
    images = Counter((i.kind.value, i.target) for c in found.containers for i in c.images)
    assert {("cubin", "8.0"), ("cubin", "9.0a"), ("cubin", "10.0f"), ("ptx", "9.0")} <= set(images)
    assert {c.role for c in found.containers} == {Role.REGISTERED, Role.STUB}
    assert re.fullmatch(r"1[2-9]\.\d+", found.toolkit) or mode == "size"


def sections(library: Path) -> dict[str, range]:
    """Return what the linker recorded: the sections of fatbins, which readers must not need."""
    text = subprocess.run(
        ["readelf", "-SW", str(library)], check=True, capture_output=True, text=True
    ).stdout
    # [16] .nv_fatbin PROGBITS 000000000008fa18 08fa18 003478 00 A 0 0 8
    found = re.findall(r"(\S*fatbin) +PROGBITS +\w+ (\w+) (\w+)", text)
    return {name: range(int(at, 16), int(at, 16) + int(size, 16)) for name, at, size in found}


def build_linked(folder: Path, *words: str) -> Path:
    """Return a library of relocatable parts, their link, and an ordinary one."""
    parts = [
        compile_one(folder, name, source, "-rdc=true", *words)
        for name, source in [("caller", CALLER), ("called", CALLED)]
    ]
    parts.append(compile_one(folder, "ordinary", KERNEL, *words))
    link = [word for word in words if "code=compute" not in word]
    nvcc(folder, "-shared", *link, *parts, "-o", "linked.so")
    return folder / "linked.so"


@pytest.fixture(scope="module", params=["none", "balance"])
def linked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return such a library for one target and PTX, built once."""
    words = (GENCODE[0], GENCODE[-1], f"--compress-mode={request.param}")
    return build_linked(tmp_path_factory.mktemp("linked"), *words)


@needs_nvcc
@pytest.mark.slow
def test_relocatable_parts_are_told_from_what_is_called(linked: Path) -> None:
    found = read_fatbins(linked)
    places = sections(linked)
    for one in found.containers:
        section = next(name for name, place in places.items() if one.offset in place)
        assert (section == "__nv_relfatbin") is (one.role is Role.RELOCATABLE)
    counted = Counter(one.role for one in found.containers)
    assert counted[Role.LINKED] == 1
    assert counted[Role.RELOCATABLE] == 2


@needs_nvcc
@pytest.mark.slow
def test_a_stripped_library_reads_the_same(linked: Path, tmp_path: Path) -> None:
    data = bytearray(linked.read_bytes())
    data[40:48] = bytes(8)
    data[58:64] = bytes(6)
    stripped = tmp_path / "stripped.so"
    stripped.write_bytes(data)
    assert read_fatbins(stripped) == read_fatbins(linked)


@needs_nvcc
@pytest.mark.network
@pytest.mark.slow
def test_cuobjdump_agrees_on_what_nvcc_makes(tmp_path: Path, cuobjdump: Path) -> None:
    targets = [word for word in GENCODE if "100f" not in word]
    library = build_linked(tmp_path, *targets)
    for relocatable in (False, True):
        mine = read(library, relocatable=relocatable)
        assert mine == dumped(cuobjdump, library, relocatable=relocatable)
