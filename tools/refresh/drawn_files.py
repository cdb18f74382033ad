"""What names of files, small binaries and headers say of rows that people write."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.version import Version

from fadoctor.binary.offload import read_offload
from tools.refresh.drawn_cells import Row, Told, needs_on, on_platforms, wheels_of, words
from tools.refresh.drawn_sources import backend_names
from tools.refresh.drawn_texts import texts
from tools.refresh.names.archive import open_sources
from tools.refresh.wheel import MEMBER_LIMIT
from tools.windows_symbols import digest, symbols_of, wheel_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.refresh.index import Index, Release
    from tools.refresh.wheel import Wheel

_ROCM = re.compile(r"bitsandbytes/libbitsandbytes_rocm(\d)(\d{1,2})\.so")
_GCC = re.compile(r"__GNUC__ > (\d+)")
_CLANG = re.compile(r"__clang_major__ >= (\d+)")
_BACKENDS = re.compile(r"(?:_Backend|AttentionBackendEnum)\.([A-Z][A-Z0-9_]*)")
_CAPABILITY = re.compile(
    r'return "(?P<name>\w+)"'
    r"|def supports_compute_capability.{0,120}?:\n\s{8}return (?P<says>[^#]{4,120}?)\n\n",
    re.DOTALL,
)
CAPABILITIES = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")


def rocm_libraries(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the GPUs of a row against the bundles of code in each of its libraries."""
    for file in [f for f in wheels_of(release) if "linux_x86_64" in on_platforms(f)][:1]:
        wheel = index.wheel(file)
        libraries = {}
        for name in wheel.names:
            if match := _ROCM.fullmatch(name):
                libraries[f"{match[1]}.{match[2]}"] = name
        for rocm in sorted(words(row["rocm"])):
            found = gfx_of(wheel, libraries[rocm]) if rocm in libraries else frozenset[str]()
            yield Told(f"ROCm {rocm}", "gfx", words(row["gfx"]), found)


def gfx_of(wheel: Wheel, name: str) -> frozenset[str]:
    """Return the GPUs that every bundle of a library in a wheel is for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "library.so")
        path.write_bytes(b"".join(wheel.chunks(name)))
        return frozenset(read_offload(path).common)


def nvcc_of(row: Row) -> tuple[str, str]:
    """Return the package of a toolkit's nvcc, and its releases as a range."""
    major, minor = map(int, str(row["toolkit"]).split("."))
    package = "nvidia-cuda-nvcc" if major > 12 else f"nvidia-cuda-nvcc-cu{major}"
    return package, f">={major}.{minor},<{major}.{minor + 1}"


def host_compilers(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the compilers that nvcc refuses against its header."""
    for file in [f for f in wheels_of(release) if "linux_x86_64" in on_platforms(f)][:1]:
        wheel = index.wheel(file)
        for name in wheel.names:
            if name.endswith("crt/host_config.h"):
                text = wheel.text(name)
                gcc = frozenset(str(int(each) + 1) for each in _GCC.findall(text))
                yield Told("", "gcc_below", words(row["gcc_below"]), gcc)
                if isinstance(row.get("clang_below"), str):
                    clang = frozenset(_CLANG.findall(text))
                    yield Told("", "clang_below", words(row["clang_below"]), clang)


def vllm_variable(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold whether vLLM knows its variable for attention."""
    text = texts(index, release, "vllm/envs.py")
    known = "VLLM_ATTENTION_BACKEND" in text
    said = frozenset({str(row["status"] != "ignored").lower()})
    yield Told("", "status", said, frozenset({str(known).lower()}))


def vllm_flash_attn(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold which modules of vLLM's flash-attn are in its wheel, or which package it requires."""
    for file in wheels_of(release)[:1]:
        if "package" in row:
            lines = index.metadata(file).get_all("Requires-Dist") or []
            said = words(row["package"])
            yield Told("", "package", said, said & {Requirement(line).name for line in lines})
        if "modules" in row:
            names = " ".join(index.wheel(file).names)
            said = words(row["modules"])
            found = frozenset(each for each in said if f"/{each}." in names)
            yield Told("", "modules", said, found)


def vllm_removed(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that a backend that was removed is no member of the enumeration."""
    name = str(row["name"])
    for told in backend_names({"names": name}, release, index):
        yield Told(name, "since", frozenset(), told.found & {name})


def windows_exports(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the set of symbols of a library for Windows by its digest."""
    wheel = wheel_of(index, "torch", str(release.version))
    library = str(row["library"])
    found = symbols_of(b"".join(wheel.chunks(f"torch/lib/{library}.lib", MEMBER_LIMIT)))
    yield Told(library, "digest", words(row["digest"]), frozenset({digest(found)}))


def brought(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that a package requires nothing of the stack that the row leaves out."""
    if wheels_of(release):
        found = needs_on(index, release, "linux_x86_64") & BROUGHT
        yield Told("", "brings", found, found & words(row.get("brings")))


BROUGHT = frozenset({"torch", "triton", "torchvision", "torchaudio", "torchao", "transformers",
                     "accelerate", "kernels", "flash-attn", "flash-attn-4"})  # fmt: skip


def vllm_on_rocm(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold which backends the platform of ROCm names."""
    text = texts(index, release, "vllm/platforms/rocm.py")
    for name in sorted(words(row["name"])):
        found = name in _BACKENDS.findall(text)
        said = frozenset({str(row["on_rocm"]).lower()})
        yield Told(name, "on_rocm", said, frozenset({str(found).lower()}))


def vllm_capability(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold for which GPUs a backend of vLLM is, where its file says so in one expression."""
    below, least = Version(str(row["below"])), Version(str(row["cc"]))
    said = frozenset(each for each in CAPABILITIES if least <= Version(each) < below)
    sources = _attention_files(index, release)
    for name in sorted(words(row["name"])):
        for text in sources:
            if (found := capabilities_of(text, name)) is not None:
                yield Told(name, "cc", said, found)


def _attention_files(index: Index, release: Release) -> list[str]:
    sources = open_sources(index.transport, release)
    folder = "vllm/v1/attention/backends/"
    return list(sources.read(p for p in sources.digests if p.startswith(folder)).values())


def capabilities_of(text: str, name: str) -> frozenset[str] | None:
    """Return for which compute capabilities a file's backend is; None where it is not plain."""
    found = list(_CAPABILITY.finditer(text))
    names = [match["name"] for match in found if match["name"]]
    says = [" ".join(match["says"].split()) for match in found if match["says"]]
    if name not in names or len(says) != 1:
        return None
    fits = [_fits(says[0], each) for each in CAPABILITIES]
    if None in fits:
        return None
    return frozenset(each for each, yes in zip(CAPABILITIES, fits, strict=True) if yes)


def _fits(says: str, capability: str) -> bool | None:
    """Return whether an expression is true of a capability: a closed list of forms."""
    major, minor = map(int, capability.split("."))
    if says == "True":
        return True
    if match := re.fullmatch(r"capability\.major == (\d+)", says):
        return major == int(match[1])
    if match := re.fullmatch(r"capability\.major in \[([\d, ]+)\]", says):
        return major in [int(each) for each in match[1].split(",")]
    least = re.fullmatch(
        r"capability >= DeviceCapability\( ?(\d+), (\d+) ?\)"
        r"(?: and capability <= DeviceCapability\( ?(\d+), (\d+) ?\))?",
        says,
    )
    if least is None:
        return None
    low, high = (int(least[1]), int(least[2])), (int(least[3] or 99), int(least[4] or 0))
    return low <= (major, minor) <= high
