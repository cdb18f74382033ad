"""Files that are damaged, foreign, or hold nothing to load."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING

from fadoctor.binary.reason import ReasonKind
from tests.binaries.forge import Forge, offers, uses
from tests.binaries.loads.cases import Case, listed, two_sorts

if TYPE_CHECKING:
    from pathlib import Path


# Files


def _changed(forge: Forge, offset: int, data: bytes) -> Path:
    path = forge.library("ext.so", offers("f"))
    content = path.read_bytes()
    path.write_bytes(content[:offset] + data + content[offset + len(data) :])
    return path


@listed
def truncated(forge: Forge) -> Case:
    path = forge.library("ext.so", "char data[20000] = {1}; char *p = data + 9;" + offers("f"))
    path.write_bytes(path.read_bytes()[:14_000])
    return Case(path, ReasonKind.TRUNCATED)


@listed
def cut_within_program_headers(forge: Forge) -> Case:
    path = forge.library("ext.so", offers("f"))
    path.write_bytes(path.read_bytes()[:200])
    return Case(path, ReasonKind.TRUNCATED)


@listed
def cut_within_header(forge: Forge) -> Case:
    path = forge.library("ext.so", offers("f"))
    path.write_bytes(path.read_bytes()[:40])
    return Case(path, ReasonKind.NOT_ELF)


@listed
def empty(forge: Forge) -> Case:
    path = forge.folder / "ext.so"
    path.touch()
    return Case(path, ReasonKind.NOT_ELF)


@listed
def text(forge: Forge) -> Case:
    path = forge.folder / "ext.so"
    path.write_text("version https://git-lfs.github.com/spec/v1\n" * 4, encoding="utf-8")
    return Case(path, ReasonKind.NOT_ELF)


@listed
def not_there(forge: Forge) -> Case:
    return Case(forge.folder / "ext.so", ReasonKind.MISSING_FILE)


@listed
def folder(forge: Forge) -> Case:
    (forge.folder / "ext.so").mkdir()
    return Case(forge.folder / "ext.so", ReasonKind.NOT_ELF)


@listed
def foreign_machine(forge: Forge) -> Case:
    return Case(_changed(forge, 18, struct.pack("<H", 243)), ReasonKind.FOREIGN_MACHINE)


@listed
def other_class(forge: Forge) -> Case:
    return Case(_changed(forge, 4, b"\1"), ReasonKind.FOREIGN_MACHINE)


@listed
def other_byte_order(forge: Forge) -> Case:
    return Case(_changed(forge, 5, b"\2"), ReasonKind.FOREIGN_MACHINE)


@listed
def other_system(forge: Forge) -> Case:
    return Case(_changed(forge, 7, b"\x09"), ReasonKind.NOT_ELF)


@listed
def object_file(forge: Forge) -> Case:
    return Case(_changed(forge, 16, struct.pack("<H", 1)), ReasonKind.NOT_A_LIBRARY)


@listed
def program(forge: Forge) -> Case:
    return Case(forge.program("ext.so", "-pie"), ReasonKind.NOT_A_LIBRARY)


@listed
def program_at_a_fixed_address(forge: Forge) -> Case:
    return Case(forge.program("ext.so", "-no-pie"), ReasonKind.NOT_A_LIBRARY)


@listed
def foreign_library_in_the_search_is_passed_over(forge: Forge) -> Case:
    a, _ = two_sorts(forge)
    path = forge.library("ext.so", uses("a"), "-Wl,-rpath,$ORIGIN/a", needs=(a,))
    wrong = forge.below("wrong").folder / "libdep.so"
    content = a.read_bytes()
    wrong.write_bytes(content[:18] + struct.pack("<H", 183) + content[20:])
    return Case(path, None, library_path=(wrong.parent,))


@listed
def other_class_in_the_search(forge: Forge) -> Case:
    a, _ = two_sorts(forge)
    path = forge.library("ext.so", uses("a"), needs=(a,))
    content = a.read_bytes()
    a.write_bytes(content[:4] + b"\1" + content[5:])
    return Case(path, ReasonKind.MISSING_SONAME, "libdep.so", library_path=(a.parent,))


@listed
def text_in_the_search_ends_it(forge: Forge) -> Case:
    a, b = two_sorts(forge)
    path = forge.library("ext.so", uses("a"), "-Wl,-rpath,$ORIGIN/a", needs=(a,))
    b.write_text("INPUT(/usr/lib/libdep.so.1)\n" * 8, encoding="utf-8")
    return Case(path, ReasonKind.NOT_ELF, "libdep.so", library_path=(b.parent,))


# Files without what is loaded


@listed
def debug_information_alone(forge: Forge) -> Case:
    path = forge.library("ext.so", "char data[20000] = {1};" + offers("f"), "-g")
    subprocess.run(["objcopy", "--only-keep-debug", path], check=True)
    return Case(path, ReasonKind.NOT_A_LIBRARY)
