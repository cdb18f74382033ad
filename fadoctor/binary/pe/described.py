"""What a PE file says of how it was built and of what it needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.pe.image import PeHeader, PeImage
from fadoctor.binary.pe.imports import ImportedLibrary, read_imports
from fadoctor.binary.source import open_source

if TYPE_CHECKING:
    from pathlib import Path

# python311.dll, python313t.dll, python3.dll of the stable ABI, python311_d.dll of debug builds
_PYTHON = re.compile(r"python(\d)(\d{0,2})(t?)(_d)?\.dll")
# vcruntime140.dll, vcruntime140_1.dll, msvcp140.dll, msvcr120.dll, concrt140.dll, vcomp140.dll
_RUNTIME = re.compile(
    r"(?:vcruntime|msvcp|msvcr|concrt|vcomp|vccorlib)(\d{2,3})(?:_[a-z0-9_]{1,20})?d?\.dll"
)
# cudart64_12.dll, cudart64_110.dll
_CUDART = re.compile(r"cudart64_(\d{1,3})\.dll")
_GPU_CODE = (".nv_fatb", ".nvFatBi")


class PeDescription(msgspec.Struct, frozen=True):
    """What one file says."""

    header: PeHeader
    imports: tuple[ImportedLibrary, ...]

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries that it is loaded with, as they are written."""
        return tuple(one.library for one in self.imports if not one.is_delayed)

    @property
    def python(self) -> str:
        """The Python that it is built for: cp311, cp313t, abi3; "" where it needs none."""
        for name in self.needed:
            match = _PYTHON.fullmatch(name.lower())
            if match:
                return f"cp{match[1]}{match[2]}{match[3]}" if match[2] else f"abi3{match[3]}"
        return ""

    @property
    def runtimes(self) -> tuple[str, ...]:
        """The libraries of the Visual C++ runtime that it needs, in lower case."""
        found = (name.lower() for name in self.needed)
        return tuple(name for name in found if _RUNTIME.fullmatch(name))

    @property
    def runtime_version(self) -> str:
        """The version in their names: 140 since Visual Studio 2015; "" without them."""
        matches = (_RUNTIME.fullmatch(name) for name in self.runtimes)
        return next((match[1] for match in matches if match), "")

    @property
    def cuda_major(self) -> str:
        """The major version of the CUDA runtime that it needs: 12, and 11 for cudart64_110."""
        for name in self.needed:
            match = _CUDART.fullmatch(name.lower())
            if match:
                return match[1] if len(match[1]) < 3 else match[1][:2]
        return ""

    @property
    def has_gpu_code(self) -> bool:
        """Whether it has sections of the CUDA compiler."""
        return any(section.name in _GPU_CODE for section in self.header.sections)


def describe_pe(path: str | Path) -> PeDescription:
    """Return what a PE file says; BadBinaryError where it cannot be read."""
    with open_source(path) as source:
        image = PeImage(source)
        return PeDescription(image.header, read_imports(image))
