"""Write the tables of what torch's libraries for Windows export: `python -m tools.windows_symbols`.

The wheels hold an import library beside each DLL (torch_cpu.lib), whose first member lists the
symbols: three megabytes instead of seventy. It was held against the DLLs of 2.4.1 and 2.15.0:
the same names. Which symbols matter is read in published extensions: only those are rows.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from fadoctor.binary.pe.described import describe_pe
from tools.refresh.errors import WheelError
from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.refresh.wheel import Wheel

TABLES = Path(__file__).resolve().parents[1] / "rules" / "matrix"
RELEASES = (
    "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1",
    "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
)  # fmt: skip
LIBRARIES = ("c10", "torch_cpu", "torch_python")
EXTENSIONS = {
    "xformers": (
        "0.0.27.post2 0.0.29.post3 0.0.30 0.0.31.post1 0.0.32.post2 0.0.33.post2 0.0.35",
        "xformers/_C.pyd",
    ),
    "torchvision": (
        "0.15.2 0.16.2 0.17.2 0.18.1 0.19.1 0.20.1 0.21.0 0.23.0 0.25.0 0.26.0 0.28.0 0.29.1",
        "torchvision/*.pyd",
    ),
    "torchaudio": (
        "2.0.2 2.1.2 2.2.2 2.3.1 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0 2.11.0",
        "torchaudio/lib/*.pyd",
    ),
}
_LIMIT = 64 << 20
_LONGEST = 300
_IMPORTED = b"__imp_"
_ARCHIVE = b"!<arch>\n"


def symbols_of(library: bytes) -> frozenset[str]:
    """Return the symbols of an import library.

    Microsoft, "PE Format", "Archive (Library) File Format": after eight bytes a header of 60, whose
    size is at 48; then the first linker member: u32 count and offsets, big-endian, and the names.
    """
    if not library.startswith(_ARCHIVE):
        raise WheelError("not an import library")
    size = int(library[56:66])
    member = library[68 : 68 + size]
    (count,) = struct.unpack_from(">I", member)
    names = member[4 + 4 * count :].split(b"\0")[:count]
    found = (name.removeprefix(_IMPORTED) for name in names if name.startswith(_IMPORTED))
    return frozenset(name.decode("latin-1") for name in found)


def digest(symbols: frozenset[str]) -> str:
    """Return what tells a set of symbols from another."""
    return hashlib.sha256("\n".join(sorted(symbols)).encode("latin-1")).hexdigest()[:16]


def exports_of(wheel: Wheel) -> dict[str, frozenset[str]]:
    """Return library -> its symbols."""
    found = {}
    for library in LIBRARIES:
        data = b"".join(wheel.chunks(f"torch/lib/{library}.lib", _LIMIT))
        found[library] = symbols_of(data)
    return found


def wheel_of(index: Index, package: str, version: str) -> Wheel:
    """Return the wheel for 64-bit Windows and Python 3.11, or any Python."""
    files = [f for f in index.releases(package)[Version(version)].files if "win_amd64" in f.name]
    usual = [f for f in files if "-cp311-cp311-" in f.name] or files
    return index.wheel(usual[0])


def wanted_by(index: Index) -> dict[str, str]:
    """Return the symbols of torch that published extensions import -> the library."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "extension.pyd")
        for package, (versions, pattern) in EXTENSIONS.items():
            for version in versions.split():
                wheel = wheel_of(index, package, version)
                for name in fnmatch.filter(wheel.names, pattern):
                    file.write_bytes(b"".join(wheel.chunks(name, _LIMIT)))
                    found |= _of_torch(file)
    return found


def _of_torch(file: Path) -> dict[str, str]:
    imports = ((one, one.library.lower().removesuffix(".dll")) for one in describe_pe(file).imports)
    return {name: dll for one, dll in imports if dll in LIBRARIES for name in one.names}


def said(releases: Sequence[str]) -> str:
    """Return the minor releases that have a symbol, in words: ``2.3 to 2.7``, ``2.8 and newer``."""
    minors = [release.rpartition(".")[0] for release in RELEASES]
    held = [minors[RELEASES.index(release)] for release in releases]
    if held == minors[-len(held) :]:
        return f"{held[0]} and newer"
    if held == minors[: len(held)]:
        return f"{held[-1]} and older"
    start = minors.index(held[0])
    if held == minors[start : start + len(held)]:
        return held[0] if len(held) == 1 else f"{held[0]} to {held[-1]}"
    return ""


def exports_table(exports: dict[str, dict[str, frozenset[str]]]) -> str:
    """Return the table of the sets."""
    rows = [
        f'  - {{release: "{release}", library: {library}, symbols: {len(held)}, '
        f'digest: "{digest(held)}"}}'
        for release, libraries in exports.items()
        for library, held in libraries.items()
    ]
    return _EXPORTS + "\n".join(rows) + "\n"


def symbols_table(exports: dict[str, dict[str, frozenset[str]]], wanted: dict[str, str]) -> str:
    """Return the table of the symbols that came or went; those of every release are left out."""
    rows = []
    for symbol, library in sorted(wanted.items()):
        held = [release for release in RELEASES if symbol in exports[release][library]]
        words = said(held) if held and len(held) < len(RELEASES) else ""
        if words and len(symbol) <= _LONGEST and not set(symbol) & set("' <>"):
            rows.append(f"  - {{symbol: '{symbol}', library: {library}, releases: {words}}}")
    return _SYMBOLS + "\n".join(rows) + "\n"


_REFERENCES = "".join(
    f'  - {{type: EVIDENCE, url: "pkg:pypi/torch@{release}"}}\n' for release in RELEASES
)
_EXPORTS = f"""table: torch-windows-exports
doc: >-
  How many symbols torch's libraries for Windows export, and a digest of their sorted names: the
  sets of the last patch release of each minor one. Read in PyPI's wheels, which are builds for the
  CPU. tools/windows_symbols.py writes this table.
keys: {{release: word, library: word}}
columns: {{symbols: integer, digest: text}}
references:
{_REFERENCES}verified: source-read
complete: false
apart: true # for those who compare a torch of their own
rows:
"""
_SYMBOLS = f"""table: torch-windows-symbols
doc: >-
  Which releases of torch for Windows export a symbol, of those that xformers, torchvision and
  torchaudio import and that came or went. Read in the last patch release of each minor one since
  2.0, in PyPI's wheels. tools/windows_symbols.py writes this table.
keys: {{symbol: word}}
columns: {{library: text, releases: text}}
references:
{_REFERENCES}  - {{type: EVIDENCE, url: "pkg:pypi/xformers@0.0.33.post2"}}
  - {{type: EVIDENCE, url: "pkg:pypi/torchvision@0.29.1"}}
  - {{type: EVIDENCE, url: "pkg:pypi/torchaudio@2.11.0"}}
verified: source-read
complete: false
rows:
"""


def tables(index: Index) -> Iterator[tuple[str, str]]:
    """Yield name and text of each table."""
    exports = {release: exports_of(wheel_of(index, "torch", release)) for release in RELEASES}
    yield "torch-windows-exports", exports_table(exports)
    yield "torch-windows-symbols", symbols_table(exports, wanted_by(index))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, or say whether they are what the index gives."""
    parser = argparse.ArgumentParser(prog="python -m tools.windows_symbols", description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder for what was fetched")
    parser.add_argument("--write", action="store_true", help="write them; else compare")
    options = parser.parse_args(arguments)
    settings = read_settings()
    different = 0
    for name, text in tables(Index(Transport(settings, options.cache), settings.indexes)):
        path = TABLES / f"{name}.yaml"
        if options.write:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            different += 1
            sys.stdout.write(f"{name} differs\n")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
