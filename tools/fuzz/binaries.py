"""Libraries as an ELF reader, and device code as a reader of fatbins, may meet them."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.binary.coverage import summarise
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.fatbin import read_fatbins
from fadoctor.binary.pe.described import PeDescription
from fadoctor.binary.pe.exports import Exports
from fadoctor.binary.pe.image import PeImage
from fadoctor.binary.pe.imports import read_imports
from fadoctor.binary.source import open_source
from tests.binaries.exercise import exercise, seeds
from tests.unit.binary.fatbin_builder import (
    LINUX_64,
    LZ4,
    RELOCATABLE_CUBIN,
    RELOCATABLE_PTX,
    SPECIFIC,
    container,
    elf,
    image,
    pe,
    ptx,
)
from tests.unit.binary.pe_builder import ARM64, X86, Wanted, library

if TYPE_CHECKING:
    from tools.fuzz.loop import Read

_REAL = 5
_LARGEST = 1 << 18
"""Bytes: a reader of many small damages needs no large file."""


def elf_corpus() -> list[bytes]:
    """Return five libraries of the Python that runs, the smallest ones; without them seeds."""
    folder = Path(sysconfig.get_config_var("DESTSHARED") or "/nowhere")
    found = [path for path in folder.glob("*.so") if path.stat().st_size <= _LARGEST]
    found.sort(key=lambda path: (path.stat().st_size, path.name))
    return [path.read_bytes() for path in found[:_REAL]] or seeds()


def elf_reader(_folder: Path) -> Read:
    """Return what reads a library whole."""

    def read(data: bytes) -> bool:
        try:
            exercise(data)
        except BadBinaryError:
            return False
        return True

    return read


def pe_corpus() -> list[bytes]:
    """Return libraries and programs of Windows, of three machines."""
    wanted = Wanted(
        {"KERNEL32.dll": ["Sleep", "CloseHandle"], "WS2_32.dll": [7, "socket"],
         "python3.dll": ["X"]},
        {"nvcuda.dll": ["cuInit", 3]},
    )  # fmt: skip
    names = [f"?f{number}@c10@@QEAAXXZ" for number in range(40)]
    return [
        library(wanted, names, forwards={"Heap": "NTDLL.RtlHeap"}),
        library(wanted, names[:3], machine=X86),
        library(wanted, machine=ARM64, is_program=True),
        library(exports=names),
        library(),
        pe(container(image()), wrappers=[(1, 0)]),
    ]


def pe_reader(folder: Path) -> Read:
    """Return what reads a library of Windows whole."""
    file = folder / "input"

    def read(data: bytes) -> bool:
        file.write_bytes(data)
        try:
            _read_pe(file)
        except BadBinaryError:
            return False
        return True

    return read


def _read_pe(file: Path) -> None:
    with open_source(file) as source:
        image = PeImage(source)
        found = PeDescription(image.header, read_imports(image))
        str((found.needed, found.python, found.runtimes, found.cuda_major, found.has_gpu_code))
        exports = Exports(image)
        for number, name in exports.ordinals():
            exports.has(name)
            exports.forwarder(number)


def fatbin_corpus() -> list[bytes]:
    """Return libraries with device code: one and several containers, compressed, relocated."""
    body = container(
        image(architecture=80),
        image(architecture=90, flags=LINUX_64 | SPECIFIC | LZ4, compressed=20),
        ptx(90, options=RELOCATABLE_PTX),
    )
    part = container(image(payload=RELOCATABLE_CUBIN))
    return [
        elf(body, wrappers=[(1, 0)]),
        elf(body, part, b"between", body, wrappers=[(2, 0), (1, 1), (1, 3)]),
        elf(body, b"between", body, wrappers=[(1, 0), (1, 2)], relocated=8),
        elf(body, b"between", container(), body),
        pe(body, part, wrappers=[(1, 0), (2, 1)]),
        pe(body),
        b"",
    ]


def fatbin_reader(folder: Path) -> Read:
    """Return what reads device code, quickly and thoroughly."""
    file = folder / "input"

    def read(data: bytes) -> bool:
        file.write_bytes(data)
        try:
            for thorough in (False, True):
                summarise(read_fatbins(file, thorough=thorough))
        except BadBinaryError:
            return False
        return True

    return read
