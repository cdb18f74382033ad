"""Symbols, their versions, and the C++ string ABI both ways."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from fadoctor.binary.reason import ReasonKind
from tests.binaries.forge import NEW_STRING, OLD_STRING, Forge, offers, uses
from tests.binaries.loads.cases import Case, extension, listed

if TYPE_CHECKING:
    from pathlib import Path


# The C++ string ABI, both ways


@listed
def old_string_on_new_torch(forge: Forge) -> Case:
    torch = forge.torch(offers(NEW_STRING))
    path = extension(forge, uses(OLD_STRING), torch)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, OLD_STRING, torch)


@listed
def new_string_on_old_torch(forge: Forge) -> Case:
    torch = forge.torch(offers(OLD_STRING))
    path = extension(forge, uses(NEW_STRING), torch)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, NEW_STRING, torch)


@listed
def same_string_as_torch(forge: Forge) -> Case:
    torch = forge.torch(offers(NEW_STRING))
    return Case(extension(forge, uses(NEW_STRING), torch), None, torch=torch)


# Symbols


@listed
def symbol_only_in_local_closure(forge: Forge) -> Case:
    torch = forge.torch("int c10_there;")
    path = extension(
        forge, "extern int only_in_python_closure; int *p = &only_in_python_closure;", torch
    )
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "only_in_python_closure", torch)


@listed
def symbol_of_preloaded_library(forge: Forge) -> Case:
    preload = forge.library("libpre.so", offers("from_preload"))
    return Case(forge.library("ext.so", uses("from_preload")), None, preload=preload)


@listed
def weak_symbol(forge: Forge) -> Case:
    source = "void gone(void) __attribute__((weak)); void use(void) { if (gone) gone(); }"
    return Case(forge.library("ext.so", source), None)


@listed
def unreferenced_symbol(forge: Forge) -> Case:
    return Case(forge.library("ext.so", '__asm__(".globl never_used_anywhere");'), None)


@listed
def hidden_symbol(forge: Forge) -> Case:
    hidden = forge.library("libdep.so", '__attribute__((visibility("hidden"))) void f(void) {}')
    path = forge.library("ext.so", uses("f"), "-Wl,-rpath,$ORIGIN", needs=(hidden,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "f")


@listed
def first_of_several_symbols(forge: Forge) -> Case:
    source = "extern int zz_data; int *p = &zz_data;" + uses("aa_function", "bb_function")
    return Case(forge.library("ext.so", source), ReasonKind.UNDEFINED_SYMBOL, "zz_data")


@listed
def dependency_is_relocated_first(forge: Forge) -> Case:
    leaf = forge.library("libleaf.so", uses("gone_in_leaf"))
    left = forge.library("libleft.so", uses("gone_in_left"), "-Wl,-rpath,$ORIGIN", needs=(leaf,))
    right = forge.library("libright.so", offers("r"), "-Wl,-rpath,$ORIGIN", needs=(leaf,))
    source = uses("gone_in_root")
    path = forge.library("ext.so", source, "-Wl,-rpath,$ORIGIN", needs=(left, right))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone_in_leaf")


@listed
def two_broken_dependencies(forge: Forge) -> Case:
    one = forge.library("libone.so", uses("gone_in_one"))
    two = forge.library("libtwo.so", uses("gone_in_two"))
    path = forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=(one, two))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone_in_two")


@listed
def thread_local_and_indirect_symbols(forge: Forge) -> Case:
    source = (
        "__thread int tls_value; static void real(void) {}\n"
        "static void *pick(void) { return real; }\n"
        'void indirect(void) __attribute__((ifunc("pick")));'
    )
    dep = forge.library("libdep.so", source)
    wants = "extern __thread int tls_value; int get(void) { return tls_value; }" + uses("indirect")
    return Case(forge.library("ext.so", wants, "-Wl,-rpath,$ORIGIN", needs=(dep,)), None)


@listed
def packed_relative_relocations(forge: Forge) -> Case:
    source = "static int x; int *p = &x; " + uses("gone")
    path = forge.library("ext.so", source, "-Wl,-z,pack-relative-relocs")
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


@listed
def sysv_hash(forge: Forge) -> Case:
    dep = forge.library("libdep.so", offers("a", "b", "c", "dd"), "-Wl,--hash-style=sysv")
    flags = ("-Wl,--hash-style=sysv", "-Wl,-rpath,$ORIGIN")
    path = forge.library("ext.so", uses("a", "b", "c", "dd", "gone"), *flags, needs=(dep,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


@listed
def nothing_exported(forge: Forge) -> Case:
    source = "static void use(void) { extern void gone(void); gone(); } "
    source += "__attribute__((constructor)) static void run(void) { use(); }"
    path = forge.library("ext.so", source, "-nostdlib")
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


@listed
def no_section_headers(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("gone"))
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    path.write_bytes(data)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


# Versions


def _versioned(forge: Forge, name: str, node: str, *functions: str) -> Path:
    return forge.library(name, offers(*functions), "-nostdlib", script=f"{node} {{ global: *; }};")


@listed
def glibc_too_old(forge: Forge) -> Case:
    stub = _versioned(forge.below("stub"), "libm.so.6", "GLIBC_2.99", "future")
    path = forge.library("ext.so", uses("future"), needs=(stub,))
    return Case(path, ReasonKind.VERSION_NOT_FOUND, "GLIBC_2.99")


@listed
def libstdcxx_too_old(forge: Forge) -> Case:
    stub = _versioned(forge.below("stub"), "libstdc++.so.6", "GLIBCXX_3.4.99", "future")
    path = forge.library("ext.so", uses("future"), needs=(stub,))
    return Case(path, ReasonKind.VERSION_NOT_FOUND, "GLIBCXX_3.4.99")


def _cudart(forge: Forge, *functions: str) -> tuple[Path, Path]:
    full = _versioned(
        forge.below("full"), "libcudart.so.12", "libcudart.so.12", "cudaOld", "cudaNew"
    )
    there = _versioned(forge.below("there"), "libcudart.so.12", "libcudart.so.12", *functions)
    return forge.library("ext.so", uses("cudaOld", "cudaNew"), needs=(full,)), there.parent


@listed
def symbol_missing_in_a_version_that_exists(forge: Forge) -> Case:
    path, there = _cudart(forge, "cudaOld")
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "cudaNew", library_path=(there,))


@listed
def symbol_present_in_its_version(forge: Forge) -> Case:
    path, there = _cudart(forge, "cudaOld", "cudaNew")
    return Case(path, None, library_path=(there,))


@listed
def provider_without_version_definitions(forge: Forge) -> Case:
    path, _ = _cudart(forge)
    plain = forge.below("plain").library("libcudart.so.12", offers("cudaOld", "cudaNew"))
    return Case(path, None, library_path=(plain.parent,))


@listed
def provider_without_any_versions(forge: Forge) -> Case:
    path, _ = _cudart(forge)
    plain = forge.below("plain").library(
        "libcudart.so.12", offers("cudaOld", "cudaNew"), "-nostdlib"
    )
    return Case(path, ReasonKind.UNVERSIONED_PROVIDER, "cudaOld", library_path=(plain.parent,))


@listed
def unversioned_import_of_one_version(forge: Forge) -> Case:
    plain = forge.below("plain").library("libdep.so", offers("f"))
    path = forge.library("ext.so", uses("f"), needs=(plain,))
    script = "A { global: a; }; B { global: f; } A; C { global: c; } B;"
    dep = forge.below("dep").library("libdep.so", offers("a", "f", "c"), script=script)
    return Case(path, None, library_path=(dep.parent,))


@listed
def unversioned_import_of_two_versions(forge: Forge) -> Case:
    plain = forge.below("plain").library("libdep.so", offers("f"))
    path = forge.library("ext.so", uses("f"), needs=(plain,))
    source = offers("a", "f1", "f2") + ('__asm__(".symver f1,f@B"); __asm__(".symver f2,f@C");')
    script = "A { global: a; local: *; }; B { } A; C { } B;"
    dep = forge.below("dep").library("libdep.so", source, script=script)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "f", library_path=(dep.parent,))
