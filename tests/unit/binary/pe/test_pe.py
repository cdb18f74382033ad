"""PE files: headers, imports, exports, and what they say of their build."""

from __future__ import annotations

import struct
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.errors import BadBinaryError, TruncatedError
from fadoctor.binary.pe.described import describe_pe
from fadoctor.binary.pe.exports import Exports
from fadoctor.binary.pe.image import PeImage
from fadoctor.binary.source import open_source
from tests.unit.binary.fatbin_builder import container, image, pe
from tests.unit.binary.pe_builder import ARM64, X86, Wanted, library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_WANTED = Wanted(
    {"KERNEL32.dll": ["Sleep", "CloseHandle"], "WS2_32.dll": [7, "socket", 21],
     "python311.dll": ["X"],
     "VCRUNTIME140_1.dll": ["y"], "cudart64_110.dll": ["z"]},
    {"nvcuda.dll": ["cuInit"]},
)  # fmt: skip


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes) -> Path:
        path = tmp_path / "made.dll"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture(name="opened")
def _opened(file: Callable[[bytes], Path]) -> Iterator[Callable[[bytes], PeImage]]:
    with ExitStack() as held:
        yield lambda data: PeImage(held.enter_context(open_source(file(data))))


@pytest.mark.parametrize(("machine", "name"), [(0x8664, "amd64"), (X86, "x86"), (ARM64, "arm64")])
def test_imports_of_every_machine(file: Callable[[bytes], Path], machine: int, name: str) -> None:
    found = describe_pe(file(library(_WANTED, machine=machine)))
    assert found.header.machine == name
    assert [(one.library, one.names, one.ordinals, one.is_delayed) for one in found.imports] == [
        ("KERNEL32.dll", ("Sleep", "CloseHandle"), (), False),
        ("WS2_32.dll", ("socket",), (7, 21), False),
        ("python311.dll", ("X",), (), False),
        ("VCRUNTIME140_1.dll", ("y",), (), False),
        ("cudart64_110.dll", ("z",), (), False),
        ("nvcuda.dll", ("cuInit",), (), True),
    ]


def test_what_it_was_built_with(file: Callable[[bytes], Path]) -> None:
    found = describe_pe(file(library(_WANTED, linker=(14, 8))))
    assert found.header.linker == "14.08"
    assert (found.python, found.cuda_major, found.runtime_version) == ("cp311", "11", "140")
    assert found.runtimes == ("vcruntime140_1.dll",)
    assert "nvcuda.dll" not in found.needed
    assert not found.has_gpu_code


@pytest.mark.parametrize(
    ("dll", "python"),
    [("python3.dll", "abi3"), ("python313t.dll", "cp313t"), ("PYTHON310.DLL", "cp310"),
     ("python3t.dll", "abi3t"), ("python.dll", ""), ("pythoncom311.dll", "")],
)  # fmt: skip
def test_the_python_that_it_is_built_for(
    file: Callable[[bytes], Path], dll: str, python: str
) -> None:
    assert describe_pe(file(library({dll: ["x"]}))).python == python


def test_gpu_code_is_seen_by_its_sections(file: Callable[[bytes], Path]) -> None:
    assert describe_pe(file(pe(container(image())))).has_gpu_code


def test_exports_are_found_as_windows_does(opened: Callable[[bytes], PeImage]) -> None:
    names = [f"?f{number}@c10@@QEAAXXZ" for number in range(300)]
    exports = Exports(
        opened(library(exports=names, forwards={"Heap": "NTDLL.RtlHeap"}, name="c10.dll"))
    )
    assert (exports.library, len(exports)) == ("c10.dll", 301)
    assert all(exports.has(name) for name in names)
    assert not any(exports.has(name) for name in ("", "?f", "?f300@c10@@QEAAXXZ", "zzz", "Ω"))
    assert [exports.has_ordinal(number) for number in (0, 1, 301, 302)] == [
        False, True, True, False,
    ]  # fmt: skip
    (number,) = [number for number, name in exports.ordinals() if name == "Heap"]
    assert exports.forwarder(number - 1) == "NTDLL.RtlHeap"
    assert exports.forwarder(number) == ""


def test_a_file_without_exports_has_none(opened: Callable[[bytes], PeImage]) -> None:
    exports = Exports(opened(library()))
    assert (len(exports), list(exports.names()), exports.has("x")) == (0, [], False)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a PE file"),
        (b"\x7fELF" + bytes(100), "not a PE file"),
        (b"MZ" + bytes(100), "a DOS program|not there"),
        (library()[:0x90], "truncated"),
        (library(_WANTED).replace(b"PE\0\0", b"NE\0\0"), "a DOS program"),
        (library()[:0x98] + b"\x77\x77" + library()[0x9A:], "optional header"),
    ],
)
def test_what_is_none_is_said(file: Callable[[bytes], Path], data: bytes, words: str) -> None:
    with pytest.raises(BadBinaryError, match=words):
        describe_pe(file(data))


def test_a_cut_file_is_told_from_a_wrong_one(file: Callable[[bytes], Path]) -> None:
    with pytest.raises(TruncatedError):
        describe_pe(file(library(_WANTED)[:-0x200]))


def test_an_object_file_is_refused(file: Callable[[bytes], Path]) -> None:
    data = bytearray(library())
    struct.pack_into("<H", data, 0x80 + 22, 0)
    with pytest.raises(BadBinaryError, match="object file"):
        describe_pe(file(bytes(data)))


def test_a_list_of_libraries_without_end_is_refused(file: Callable[[bytes], Path]) -> None:
    data = library({f"a{number}.dll": ["x"] for number in range(1001)})
    with pytest.raises(BadBinaryError, match="more than 1000 libraries"):
        describe_pe(file(data))


def test_a_list_of_symbols_without_end_is_refused(
    file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fadoctor.binary.pe.imports.MAX_IMPORTS", 10)
    with pytest.raises(BadBinaryError, match="more than 10 symbols"):
        describe_pe(file(library({"a.dll": [str(number) for number in range(11)]})))


def test_one_long_name_that_all_share_is_bounded(
    file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fadoctor.binary.pe.image._MAX_TOTAL_TEXT", 1000)
    with pytest.raises(BadBinaryError, match="of names"):
        describe_pe(file(library({"a.dll": ["x" * 200] * 5})))
