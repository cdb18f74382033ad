"""Real libraries of this machine, read by us and by pyelftools."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from fadoctor.binary.elf import read_elf
from fadoctor.binary.files import Tree
from fadoctor.binary.loader import File
from fadoctor.binary.symbols import Import, gnu_hash

elffile = pytest.importorskip("elftools.elf.elffile")

_MAX_BYTES = 40 << 20
_LOOKED_UP = 300


def real_libraries() -> list[Path]:
    """Return libraries of the environment and of the system, not too large for the oracle."""
    site = Path(sysconfig.get_path("purelib"))
    found = sorted(site.rglob("*.so"))[:40]
    found += sorted((site / "torch" / "lib").glob("*.so*"))
    system = Path(f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}")
    found += [system / name for name in ("libc.so.6", "libstdc++.so.6", "libm.so.6", "libz.so.1")]
    return [path for path in found if path.is_file() and path.stat().st_size < _MAX_BYTES]


def oracle(path: Path) -> dict[str, Any]:
    """Return what pyelftools reads, by section headers where it does so."""
    with path.open("rb") as stream:
        elf = elffile.ELFFile(stream)
        tags: dict[str, Any] = {"needed": [], "soname": "", "rpath": "", "runpath": ""}
        for tag in elf.get_section_by_name(".dynamic").iter_tags():
            name = tag.entry.d_tag.removeprefix("DT_").lower()
            if name == "needed":
                tags["needed"].append(tag.needed)
            elif name in tags:
                tags[name] = getattr(tag, name)
        symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())
        relocated = set()
        for section in elf.iter_sections():
            if section.header.sh_type in {"SHT_RELA", "SHT_REL"}:
                relocated |= {r.entry.r_info_sym for r in section.iter_relocations()}
        tags["imports"] = {
            symbol.name
            for number, symbol in enumerate(symbols)
            if number in relocated
            and symbol.entry.st_shndx == "SHN_UNDEF"
            and symbol.entry.st_info.bind == "STB_GLOBAL"
        }
        tags["exports"] = [
            symbol.name
            for symbol in symbols
            if symbol.entry.st_shndx != "SHN_UNDEF"
            and symbol.entry.st_info.bind in {"STB_GLOBAL", "STB_WEAK"}
            and symbol.entry.st_info.type in {"STT_FUNC", "STT_OBJECT"}
            and symbol.entry.st_other.visibility in {"STV_DEFAULT", "STV_PROTECTED"}
            and symbol.entry.st_value
        ]
        needs = elf.get_section_by_name(".gnu.version_r")
        tags["needs"] = {
            (need.name, version.name)
            for need, versions in (needs.iter_versions() if needs else ())
            for version in versions
        }
    return tags


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs ELF libraries")
def test_two_readers_agree() -> None:
    compared = 0
    with Tree() as tree:
        for path in real_libraries():
            expected = oracle(path)
            file = File(read_elf(tree.open(str(path))))
            assert list(file.elf.needed) == expected["needed"], path
            assert file.elf.soname == expected["soname"], path
            assert file.elf.runpath == expected["runpath"], path
            assert file.elf.rpath == ("" if expected["runpath"] else expected["rpath"]), path
            found = {wanted.name.decode() for wanted in file.symbols.imports()}
            assert found == expected["imports"], path
            assert {(need.file, need.name) for need in file.needs} == expected["needs"], path
            for name in expected["exports"][:_LOOKED_UP]:
                plain = name.encode()
                # An old version that is not the default may be the only one.
                if file.symbols.defined is None:
                    assert file.symbols.find(Import(plain, gnu_hash(plain), None)), (path, name)
            absent = b"a name that nothing exports"
            assert not file.symbols.find(Import(absent, gnu_hash(absent), None))
            compared += 1
    assert compared >= 5
