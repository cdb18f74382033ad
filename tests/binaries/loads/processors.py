"""Folders for some processors, and the tokens of search paths."""

from __future__ import annotations

import struct

from fadoctor.binary.reason import ReasonKind
from tests.binaries.forge import Forge, offers, uses
from tests.binaries.loads.cases import Case, listed, two_sorts


def _tagged(kind: str) -> tuple[str, ...]:
    return f"-Wl,-rpath,$ORIGIN/{kind}", "-Wl,--disable-new-dtags"


def _below(forge: Forge, below: str, *flags: str) -> Case:
    """Open what needs a library that only a folder below the search path has whole."""
    path = forge.library("ext.so", uses("a"), *flags, needs=(two_sorts(forge)[0],))
    forge.below("lib").library("libdep.so", offers("b"))
    forge.below(f"lib/{below}").library("libdep.so", offers("a"))
    return Case(path, None)


@listed
def processor_folder_of_rpath(forge: Forge) -> Case:
    return _below(forge, "glibc-hwcaps/x86-64-v2", *_tagged("lib"))


@listed
def processor_folder_of_runpath(forge: Forge) -> Case:
    flags = ("-Wl,-rpath,$ORIGIN/lib", "-Wl,--enable-new-dtags")
    return _below(forge, "glibc-hwcaps/x86-64-v2", *flags)


@listed
def processor_folder_of_library_path(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v2")
    return case._replace(library_path=(forge.folder / "lib",))


@listed
def processor_folder_alone(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v2", *_tagged("lib"))
    (forge.folder / "lib" / "libdep.so").unlink()
    return case


@listed
def best_processor_folder_goes_first(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v3", *_tagged("lib"))
    forge.below("lib/glibc-hwcaps/x86-64-v2").library("libdep.so", offers("b"))
    return case


@listed
def processor_folder_of_no_processor(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v99", *_tagged("lib"))
    return case._replace(kind=ReasonKind.UNDEFINED_SYMBOL, name="a")


@listed
def foreign_library_in_a_processor_folder(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v2", *_tagged("lib"))
    dep = forge.folder / "lib" / "glibc-hwcaps" / "x86-64-v2" / "libdep.so"
    content = dep.read_bytes()
    dep.write_bytes(content[:18] + struct.pack("<H", 183) + content[20:])
    return case._replace(kind=ReasonKind.UNDEFINED_SYMBOL, name="a")


@listed
def token_of_the_platform(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("a"), *_tagged("$PLATFORM"), needs=(two_sorts(forge)[0],))
    for platform in ("haswell", "xeon_phi", "x86_64", "aarch64"):
        forge.below(platform).library("libdep.so", offers("a"))
    return Case(path, None)


@listed
def token_of_the_library_folder(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("a"), *_tagged("${LIB}"), needs=(two_sorts(forge)[0],))
    for folder in ("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64"):
        forge.below(folder).library("libdep.so", offers("a"))
    return Case(path, None)


@listed
def token_within_a_word(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("a"), *_tagged("$LIBRARY"), needs=(two_sorts(forge)[0],))
    forge.below("$LIBRARY").library("libdep.so", offers("a"))
    return Case(path, None)
