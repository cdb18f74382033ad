"""PE files, read by us and by pefile: made ones always, published ones where an index is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fadoctor.binary.coverage import summarise
from fadoctor.binary.fatbin import read_fatbins
from fadoctor.binary.pe.described import describe_pe
from fadoctor.binary.pe.exports import Exports
from fadoctor.binary.pe.image import PeImage
from fadoctor.binary.pe.imports import read_imports
from fadoctor.binary.source import open_source
from tests.binaries.pe.published import WHEELS, files_of, index_in
from tools.fuzz.binaries import pe_corpus

if TYPE_CHECKING:
    from pathlib import Path

pefile = pytest.importorskip("pefile")

_NO_LIMIT = 1 << 20
_LIMITS = ("MAX_SYMBOL_EXPORT_COUNT", "MAX_IMPORT_SYMBOLS", "MAX_IMPORT_NAME_LENGTH",
           "MAX_DLL_LENGTH", "MAX_SYMBOL_NAME_LENGTH")  # fmt: skip
_MACHINES = {0x8664: "amd64", 0x14C: "x86", 0xAA64: "arm64"}


class Read(NamedTuple):
    """What a reader says of a file."""

    machine: str
    linker: str
    sections: list[tuple[str, int, int, int]]
    imports: list[tuple[str, tuple[str, ...], tuple[int, ...], bool]]
    exports: list[tuple[int, str, str]]
    """Number, name, and where it is really."""


@pytest.fixture(autouse=True)
def _long_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _LIMITS:
        monkeypatch.setattr(pefile, name, _NO_LIMIT)


def theirs(path: Path) -> Read:
    """Return what pefile reads. It names symbols by number of some libraries: that is left out."""
    file = pefile.PE(str(path), fast_load=True)
    file.parse_data_directories([0, 1, 13])
    imports = []
    for directory, is_delayed in (("IMPORT", False), ("DELAY_IMPORT", True)):
        for entry in getattr(file, f"DIRECTORY_ENTRY_{directory}", []):
            named = tuple(_text(s.name) for s in entry.imports if not s.import_by_ordinal)
            numbers = tuple(s.ordinal for s in entry.imports if s.import_by_ordinal)
            imports.append((_text(entry.dll), named, numbers, is_delayed))
    exported = getattr(file, "DIRECTORY_ENTRY_EXPORT", None)
    symbols = exported.symbols if exported else []
    optional = file.OPTIONAL_HEADER
    found = Read(
        _MACHINES[file.FILE_HEADER.Machine],
        f"{optional.MajorLinkerVersion}.{optional.MinorLinkerVersion:02}",
        [(_text(s.Name.rstrip(b"\0")), s.VirtualAddress, s.Misc_VirtualSize, s.SizeOfRawData)
         for s in file.sections],
        imports,
        sorted((s.ordinal, _text(s.name), _text(s.forwarder)) for s in symbols),
    )  # fmt: skip
    file.close()
    return found


def _text(name: Any) -> str:
    return (name or b"").decode("latin-1")


def ours(path: Path) -> Read:
    """Return what we read."""
    with open_source(path) as source:
        image = PeImage(source)
        exports = Exports(image)
        first = next((number for number, _ in exports.ordinals()), 0)
        header = image.header
        return Read(
            header.machine,
            header.linker,
            [(s.name, s.address, s.virtual_size, s.raw_size) for s in header.sections],
            [(i.library, i.names, i.ordinals, i.is_delayed) for i in read_imports(image)],
            sorted((n, name, exports.forwarder(n - first)) for n, name in exports.ordinals()),
        )


@pytest.mark.parametrize("data", pe_corpus()[:-1])
def test_made_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "made.dll"
    path.write_bytes(data)
    assert ours(path) == theirs(path)


@pytest.mark.network
@pytest.mark.slow
def test_published_files(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    paths = [path for wanted in WHEELS for path in files_of(index, wanted, tmp_path)]
    assert len(paths) >= 30
    for path in paths:
        found = ours(path)
        assert found == theirs(path), path
        with open_source(path) as source:
            exports = Exports(PeImage(source))
            assert all(exports.has(name) for _, name, _ in found.exports if name), path
    with_code = [path for path in paths if describe_pe(path).has_gpu_code]
    assert len(with_code) >= 3
    for path in with_code:
        quick = read_fatbins(path)
        assert quick.containers
        assert summarise(quick) == summarise(read_fatbins(path, thorough=True)), path
