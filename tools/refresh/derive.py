"""Say what the files of a release tell about the columns of the tables.

A deriver yields rows; it raises FetchError or WheelError where a file cannot be read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import parse_specifier
from fadoctor.model.packages import COMPANIONS, STACK
from tools.refresh.artefact import (
    MACHINES,
    Value,
    arch_flags,
    build_capability,
    capability,
    cxx11_abi,
    environment,
    glibc,
    json_member,
    library_strings,
    per_machine,
    pythons,
    requirement,
    requirements,
    tag_glibc,
    torch_cuda,
)
from tools.refresh.errors import WheelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.refresh.document import Document
    from tools.refresh.index import Index, Release

PINNED = (
    "torch",
    "triton",
    "xformers",
    "flash-attn",
    "flash-attn-4",
    "transformers",
    "bitsandbytes",
)
"""Distributions whose pins in other packages are of interest."""

FRAMEWORK_NEEDS = STACK | COMPANIONS | {
    "compressed-tensors", "flash-linear-attention", "huggingface-hub", "numpy", "outlines",
    "pytorch-lightning", "sentencepiece", "sgl-deep-ep", "sgl-deep-gemm", "sgl-flash-mla",
    "sgl-kernel", "sglang-kernel", "torchcodec", "torchmetrics", "xgrammar",
}  # fmt: skip
"""Distributions of which it matters what frameworks require."""

_UNBOUND = ("torch", "torchvision", "torchaudio")
"""Those that are written without a bound, too: which of them comes follows from torch."""

_FLASH_FUNCTION = re.compile(
    r"^def is_flash_attn_2_available\(.{0,4000}?^(?=def |@|\S)", re.MULTILINE | re.DOTALL
)
_FLASH_MINIMUM = re.compile(r">= version\.parse\(\"([0-9.]{1,12})\"\)")
_PLATFORMS = ("linux_aarch64", "linux_x86_64", "macosx_arm64", "win_amd64")
_CPYTHON = re.compile(r"cp(\d)(\d{1,2})")
_CUDA_LIBRARY = re.compile(r"bitsandbytes/libbitsandbytes_cuda(\d{3})(?:_nocublaslt)?\.so")


@dataclass(frozen=True)
class DerivedRow:
    """Cells of one release. ``keys`` are the key columns beside the version."""

    version: Version
    keys: Mapping[str, str]
    cells: Mapping[str, Value] = field(default_factory=dict)


def torch_releases(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``torch-releases``: one row for each platform that has wheels."""
    for machine, file in per_machine(release):
        wheel = index.wheel(file)
        strings = library_strings(wheel)
        triton = requirement(index, file, "triton", environment(release, machine))
        yield DerivedRow(
            release.version,
            {"platform": f"linux_{machine}"},
            {
                "pypi_cuda": Value(torch_cuda(wheel), f"{file.name}, version.py"),
                "triton": Value(triton[0], f"{file.name}, METADATA"),
                "triton_marker": Value(triton[1], f"{file.name}, METADATA"),
                "python": Value(" ".join(pythons(release, machine)), "tags of the wheels"),
                "glibc": glibc(file, machine, strings),
            },
        )


def torch_builds(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive the rows of ``torch-builds`` that are the index's own build; a CPU build has none."""
    for machine, file in per_machine(release):
        wheel = index.wheel(file)
        cuda = torch_cuda(wheel)
        if cuda is None:
            continue
        flags = arch_flags(library_strings(wheel), file)
        source = f"{file.name}, libtorch_python.so"
        sm = [capability(flag) for flag in flags if flag.startswith("sm_")]
        ptx = [capability(flag) for flag in flags if flag.startswith("compute_")]
        yield DerivedRow(
            release.version,
            {"build": f"pypi cu{cuda.replace('.', '')}", "platform": f"linux_{machine}"},
            {
                "cuda": Value(cuda, f"{file.name}, version.py"),
                "sm": Value(" ".join(sm), source),
                "ptx": Value(ptx[-1] if ptx else None, source),
                "cxx11_abi": Value(cxx11_abi(wheel), f"{file.name}, c10::Error in libc10.so"),
            },
        )


def triton_releases(
    release: Release, _: Index, tables: Mapping[str, Document]
) -> Iterator[DerivedRow]:
    """Derive ``triton-releases``; which torch pins it comes from the table of torch."""
    found = [text.rstrip("t") for text in pythons(release, "x86_64")]
    if found:
        torch = _pinned_by(tables["torch-releases"], release.version)
        cells = {
            "python": Value(f"{found[0]}-{found[-1]}", "tags of the wheels"),
            "torch": Value(" ".join(torch) or None, "torch-releases"),
        }
        yield DerivedRow(release.version, {}, cells)


def xformers_releases(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``xformers-releases`` from METADATA and the build's own record."""
    for machine, file in per_machine(release):
        wheel = index.wheel(file)
        record = json_member(wheel, "xformers/cpp_lib.json")
        flags = str(record.get("env", {}).get("TORCH_CUDA_ARCH_LIST", "")).replace(";", " ").split()
        cuda = record.get("version", {}).get("cuda")
        source = f"{file.name}, cpp_lib.json"
        sm = sorted({build_capability(flag) for flag in flags}, key=Version)
        torch = requirement(index, file, "torch", environment(release, machine))
        cells = {"torch": Value(torch[0], f"{file.name}, METADATA")}
        if isinstance(cuda, int):
            cells["cuda"] = Value(f"{cuda // 100}.{cuda % 100}", source)
        if sm:
            cells["sm"] = Value(" ".join(sm), source)
        yield DerivedRow(release.version, {}, cells)


def beside_torch(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``torchvision-releases`` and ``torchaudio-releases`` from METADATA and the tags.

    What requires one release of torch was published with it. A wheel without a Python in its
    tags, and metadata that requires no torch, leave their cells to people.
    """
    for machine, file in per_machine(release):
        if machine != MACHINES[0]:
            continue
        torch = requirement(index, file, "torch", environment(release, machine))[0]
        source = f"{file.name}, METADATA"
        cells: dict[str, Value] = {}
        if torch:
            cells["torch"] = Value(torch, source)
            if torch.startswith("=="):
                cells["with"] = Value(torch[2:], source)
        found = pythons(release, machine)
        if all("." in python and not python.endswith(".0") for python in found):
            cells["python"] = Value(" ".join(found), "tags of the wheels")
        yield DerivedRow(release.version, {}, cells)


def transformers_flash_attn(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive the lowest flash-attn for NVIDIA GPUs: the first bound of the function that asks."""
    for file in release.wheels():
        name = "transformers/utils/import_utils.py"
        function = _FLASH_FUNCTION.search(index.wheel(file).text(name))
        body = function.group() if function else ""
        bound = _FLASH_MINIMUM.search(body)
        if bound is None:
            raise WheelError(f"{file.name}: no bound for flash-attn in {name}")
        source = f"{file.name}, {name}"
        by_distribution = "distribution_mapping" in body.lower()
        cells = {
            "flash_attn": Value(f">={bound.group(1)}", source),
            "by_distribution": Value(str(by_distribution).lower(), source),
        }
        yield DerivedRow(release.version, {}, cells)


def wheel_glibc(release: Release, _: object, __: object) -> Iterator[DerivedRow]:
    """Derive ``packages-glibc``: the lowest glibc by the tags of the x86_64 wheels."""
    bounds = [tag_glibc(file, "x86_64") for file in release.wheels("x86_64")]
    known = [bound for bound in bounds if bound]
    if known and len(known) == len(bounds):
        value = Value(min(known, key=Version), "tags of the wheels")
        yield DerivedRow(release.version, {"package": release.package}, {"glibc": value})


def wheel_platforms(release: Release, _: object, __: object) -> Iterator[DerivedRow]:
    """Derive ``wheel-platforms`` from the names of the files on the page of the index."""
    tags = [tag for file in release.files for tag in file.tags]
    source = "the page of the index"
    platforms = {name for tag in tags for name in _PLATFORMS if _is_on(tag.platform, name)}
    bound = {m.group(1, 2) for tag in tags if (m := _CPYTHON.fullmatch(tag.interpreter))}
    for_all = any(tag.abi in {"abi3", "none"} for tag in tags)
    numbers = sorted((int(major), int(minor)) for major, minor in bound)
    cells = {
        "platforms": Value(" ".join(sorted(platforms)) or None, source),
        "pythons": Value(
            None if for_all else " ".join(f"{x}.{y}" for x, y in numbers) or None, source
        ),
        "sdist": Value(str(any(not file.tags for file in release.files)).lower(), source),
    }
    yield DerivedRow(release.version, {"package": release.package}, cells)


def _is_on(tag: str, platform: str) -> bool:
    """Return whether a platform tag is that of a platform, or of all."""
    system, _, machine = platform.partition("_")
    starts = ("manylinux", "linux_") if system == "linux" else (system,)
    return tag == "any" or (tag.startswith(starts) and tag.endswith(machine))


def flash_attn_releases(release: Release, _: object, __: object) -> Iterator[DerivedRow]:
    """Derive ``flash-attn-releases`` from the page of the index alone."""
    source = "the page of the index"
    days = sorted(file.uploaded for file in release.files if file.uploaded)
    allowed = {parse_specifier(file.python) for file in release.files}
    yanked = all(file.yanked for file in release.files)
    cells = {"on_pypi": Value("true", source), "yanked": Value("true" if yanked else None, source)}
    if days:
        cells["published"] = Value(days[0], source)
    if len(allowed) == 1 and (python := allowed.pop()):
        cells["python"] = Value(str(python), source)
    yield DerivedRow(release.version, {}, cells)


def release_months(release: Release, _: object, __: object) -> Iterator[DerivedRow]:
    """Derive ``release-months`` from the page of the index alone."""
    days = sorted(file.uploaded for file in release.files if file.uploaded)
    if days and not release.version.is_prerelease and not all(f.yanked for f in release.files):
        cells = {"month": Value(days[0][:7], "the page of the index")}
        yield DerivedRow(release.version, {"package": release.package}, cells)


def only_watched(release: Release, _: object, __: object) -> Iterator[DerivedRow]:
    """Derive nothing, so that a release without any row is noticed."""
    yield DerivedRow(release.version, {})


def pins(release: Release, index: Index) -> dict[str, list[str]]:
    """Return what a release requires of the packages of interest: ``torch: ['==2.14.0']``.

    A requirement with a marker is written with it; one that only an extra brings, too.
    """
    files = [*release.wheels(), *release.wheels("x86_64")]
    found: dict[str, list[str]] = {}
    if not files:
        return found
    for required in requirements(index, files[-1]):
        if required.name in PINNED and required.name != release.package:
            marker = f"; {required.marker}" if required.marker else ""
            text = f"{required.specifier or '*'}{marker}"
            found.setdefault(required.name, []).append(text)
    if release.package == "bitsandbytes":
        libraries = map(_CUDA_LIBRARY.fullmatch, index.wheel(files[-1]).names)
        numbers = {match.group(1) for match in libraries if match}
        found["cuda libraries"] = sorted(f"{text[:2]}.{text[2]}" for text in numbers)
    return found


def _pinned_by(torch: Document, version: Version) -> list[str]:
    """Return the torch releases whose pin accepts a version of triton."""
    found: set[str] = set()
    for row in torch.rows:
        pin = parse_specifier(str(row.cells.get("triton")))
        if pin is not None and pin.contains(version):
            found.update(str(row.cells["version"]).split())
    return sorted(found, key=Version)


def framework_releases(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive ``framework-releases``: what METADATA requires of the stack in certain versions.

    On Linux, without extras. A requirement of torch in any version is written, too: it says that
    the package computes with it.
    """
    files = [*release.wheels(), *release.wheels(MACHINES[0])]
    if not files:
        return
    file = files[-1]
    around = {"sys_platform": "linux", "platform_system": "Linux", "extra": "",
              "platform_machine": MACHINES[0], "python_version": "3.12",
              "python_full_version": "3.12.0", "os_name": "posix",
              "platform_python_implementation": "CPython",
              "implementation_name": "cpython"}  # fmt: skip
    needs: dict[str, str] = {}
    for each in requirements(index, file):
        name = canonicalize_name(each.name)
        if name not in FRAMEWORK_NEEDS or name == release.package:
            continue
        if each.url or (each.marker and not each.marker.evaluate(dict(around))):
            continue
        both = filter(None, (needs.get(name, ""), str(each.specifier)))
        needs[name] = ",".join(sorted(",".join(both).split(",")))
    words = sorted(f"{name}{text}" for name, text in needs.items() if text or name in _UNBOUND)
    source = f"{file.name}, METADATA"
    cells = {
        "python": Value(str(index.metadata(file)["Requires-Python"] or "") or None, source),
        "requires": Value(" ".join(words) or None, source),
    }
    yield DerivedRow(release.version, {"package": release.package}, cells)
