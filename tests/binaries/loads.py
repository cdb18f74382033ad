"""Cases for the loader: what is opened, in which process, and what must come out."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.binary.prediction import LoadStage
from fadoctor.binary.reason import ReasonKind
from tests.binaries.forge import NEW_STRING, OLD_STRING, Forge, offers, uses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Case(NamedTuple):
    """One library to open."""

    path: Path
    kind: ReasonKind | None
    """The first obstacle; None where it loads."""
    name: str = ""
    """The soname, version or symbol that is named."""
    torch: Path | None = None
    library_path: tuple[Path, ...] = ()
    preload: Path | None = None
    stage: LoadStage = LoadStage.EXTENSION

    def environ(self) -> dict[str, str]:
        """Return the variables of the process."""
        environ = {}
        if self.library_path:
            environ["LD_LIBRARY_PATH"] = ":".join(map(str, self.library_path))
        if self.preload:
            environ["LD_PRELOAD"] = str(self.preload)
        return environ


CASES: dict[str, Callable[[Forge], Case]] = {}


def _case(build: Callable[[Forge], Case]) -> Callable[[Forge], Case]:
    CASES[build.__name__.replace("_", "-")] = build
    return build


def _extension(forge: Forge, source: str, torch: Path, *flags: str) -> Path:
    return forge.library("ext.so", source, *flags, needs=(torch / "lib" / "libc10.so",))


# The C++ string ABI, both ways


@_case
def old_string_on_new_torch(forge: Forge) -> Case:
    torch = forge.torch(offers(NEW_STRING))
    path = _extension(forge, uses(OLD_STRING), torch)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, OLD_STRING, torch)


@_case
def new_string_on_old_torch(forge: Forge) -> Case:
    torch = forge.torch(offers(OLD_STRING))
    path = _extension(forge, uses(NEW_STRING), torch)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, NEW_STRING, torch)


@_case
def same_string_as_torch(forge: Forge) -> Case:
    torch = forge.torch(offers(NEW_STRING))
    return Case(_extension(forge, uses(NEW_STRING), torch), None, torch=torch)


# Symbols


@_case
def symbol_only_in_local_closure(forge: Forge) -> Case:
    torch = forge.torch("int c10_there;")
    path = _extension(
        forge, "extern int only_in_python_closure; int *p = &only_in_python_closure;", torch
    )
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "only_in_python_closure", torch)


@_case
def symbol_of_preloaded_library(forge: Forge) -> Case:
    preload = forge.library("libpre.so", offers("from_preload"))
    return Case(forge.library("ext.so", uses("from_preload")), None, preload=preload)


@_case
def weak_symbol(forge: Forge) -> Case:
    source = "void gone(void) __attribute__((weak)); void use(void) { if (gone) gone(); }"
    return Case(forge.library("ext.so", source), None)


@_case
def unreferenced_symbol(forge: Forge) -> Case:
    return Case(forge.library("ext.so", '__asm__(".globl never_used_anywhere");'), None)


@_case
def hidden_symbol(forge: Forge) -> Case:
    hidden = forge.library("libdep.so", '__attribute__((visibility("hidden"))) void f(void) {}')
    path = forge.library("ext.so", uses("f"), "-Wl,-rpath,$ORIGIN", needs=(hidden,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "f")


@_case
def first_of_several_symbols(forge: Forge) -> Case:
    source = "extern int zz_data; int *p = &zz_data;" + uses("aa_function", "bb_function")
    return Case(forge.library("ext.so", source), ReasonKind.UNDEFINED_SYMBOL, "zz_data")


@_case
def dependency_is_relocated_first(forge: Forge) -> Case:
    leaf = forge.library("libleaf.so", uses("gone_in_leaf"))
    left = forge.library("libleft.so", uses("gone_in_left"), "-Wl,-rpath,$ORIGIN", needs=(leaf,))
    right = forge.library("libright.so", offers("r"), "-Wl,-rpath,$ORIGIN", needs=(leaf,))
    source = uses("gone_in_root")
    path = forge.library("ext.so", source, "-Wl,-rpath,$ORIGIN", needs=(left, right))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone_in_leaf")


@_case
def two_broken_dependencies(forge: Forge) -> Case:
    one = forge.library("libone.so", uses("gone_in_one"))
    two = forge.library("libtwo.so", uses("gone_in_two"))
    path = forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=(one, two))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone_in_two")


@_case
def thread_local_and_indirect_symbols(forge: Forge) -> Case:
    source = (
        "__thread int tls_value; static void real(void) {}\n"
        "static void *pick(void) { return real; }\n"
        'void indirect(void) __attribute__((ifunc("pick")));'
    )
    dep = forge.library("libdep.so", source)
    wants = "extern __thread int tls_value; int get(void) { return tls_value; }" + uses("indirect")
    return Case(forge.library("ext.so", wants, "-Wl,-rpath,$ORIGIN", needs=(dep,)), None)


@_case
def packed_relative_relocations(forge: Forge) -> Case:
    source = "static int x; int *p = &x; " + uses("gone")
    path = forge.library("ext.so", source, "-Wl,-z,pack-relative-relocs")
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


@_case
def sysv_hash(forge: Forge) -> Case:
    dep = forge.library("libdep.so", offers("a", "b", "c", "dd"), "-Wl,--hash-style=sysv")
    flags = ("-Wl,--hash-style=sysv", "-Wl,-rpath,$ORIGIN")
    path = forge.library("ext.so", uses("a", "b", "c", "dd", "gone"), *flags, needs=(dep,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


@_case
def nothing_exported(forge: Forge) -> Case:
    source = "static void use(void) { extern void gone(void); gone(); } "
    source += "__attribute__((constructor)) static void run(void) { use(); }"
    path = forge.library("ext.so", source, "-nostdlib")
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "gone")


@_case
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


@_case
def glibc_too_old(forge: Forge) -> Case:
    stub = _versioned(forge.below("stub"), "libm.so.6", "GLIBC_2.99", "future")
    path = forge.library("ext.so", uses("future"), needs=(stub,))
    return Case(path, ReasonKind.VERSION_NOT_FOUND, "GLIBC_2.99")


@_case
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


@_case
def symbol_missing_in_a_version_that_exists(forge: Forge) -> Case:
    path, there = _cudart(forge, "cudaOld")
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "cudaNew", library_path=(there,))


@_case
def symbol_present_in_its_version(forge: Forge) -> Case:
    path, there = _cudart(forge, "cudaOld", "cudaNew")
    return Case(path, None, library_path=(there,))


@_case
def provider_without_version_definitions(forge: Forge) -> Case:
    path, _ = _cudart(forge)
    plain = forge.below("plain").library("libcudart.so.12", offers("cudaOld", "cudaNew"))
    return Case(path, None, library_path=(plain.parent,))


@_case
def provider_without_any_versions(forge: Forge) -> Case:
    path, _ = _cudart(forge)
    plain = forge.below("plain").library(
        "libcudart.so.12", offers("cudaOld", "cudaNew"), "-nostdlib"
    )
    return Case(path, ReasonKind.UNVERSIONED_PROVIDER, "cudaOld", library_path=(plain.parent,))


@_case
def unversioned_import_of_one_version(forge: Forge) -> Case:
    plain = forge.below("plain").library("libdep.so", offers("f"))
    path = forge.library("ext.so", uses("f"), needs=(plain,))
    script = "A { global: a; }; B { global: f; } A; C { global: c; } B;"
    dep = forge.below("dep").library("libdep.so", offers("a", "f", "c"), script=script)
    return Case(path, None, library_path=(dep.parent,))


@_case
def unversioned_import_of_two_versions(forge: Forge) -> Case:
    plain = forge.below("plain").library("libdep.so", offers("f"))
    path = forge.library("ext.so", uses("f"), needs=(plain,))
    source = offers("a", "f1", "f2") + ('__asm__(".symver f1,f@B"); __asm__(".symver f2,f@C");')
    script = "A { global: a; local: *; }; B { } A; C { } B;"
    dep = forge.below("dep").library("libdep.so", source, script=script)
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "f", library_path=(dep.parent,))


# Libraries


@_case
def missing_soname(forge: Forge) -> Case:
    away = forge.below("away").library("libgone.so.12", offers("f"))
    path = forge.library("ext.so", uses("f", "g"), needs=(away,))
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so.12")


@_case
def missing_soname_of_a_dependency(forge: Forge) -> Case:
    away = forge.below("away").library("libgone.so", offers("f"))
    away2 = forge.below("away").library("libgone2.so", offers("f"))
    dep = forge.library("libdep.so", "", needs=(away,))
    path = forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=(dep, away2))
    return Case(path, ReasonKind.MISSING_SONAME, "libgone2.so")


def _two_sorts(forge: Forge) -> tuple[Path, Path]:
    """Return libdep.so with the function a, and one with the function b."""
    one = forge.below("a").library("libdep.so", offers("a"))
    return one, forge.below("b").library("libdep.so", offers("b"))


@_case
def rpath_before_library_path(forge: Forge) -> Case:
    a, b = _two_sorts(forge)
    flags = ("-Wl,-rpath,$ORIGIN/a", "-Wl,--disable-new-dtags")
    return Case(
        forge.library("ext.so", uses("a"), *flags, needs=(a,)), None, library_path=(b.parent,)
    )


@_case
def library_path_before_runpath(forge: Forge) -> Case:
    a, b = _two_sorts(forge)
    flags = ("-Wl,-rpath,$ORIGIN/a", "-Wl,--enable-new-dtags")
    path = forge.library("ext.so", uses("a"), *flags, needs=(a,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "a", library_path=(b.parent,))


@_case
def rpath_holds_for_dependencies(forge: Forge) -> Case:
    leaf = forge.below("lib").library("libleaf.so", offers("f"))
    middle = forge.below("lib").library("libmiddle.so", uses("f"), needs=(leaf,))
    flags = ("-Wl,-rpath,${ORIGIN}/lib", "-Wl,--disable-new-dtags")
    return Case(forge.library("ext.so", "", *flags, needs=(middle,)), None)


@_case
def runpath_does_not_hold_for_dependencies(forge: Forge) -> Case:
    leaf = forge.below("lib").library("libleaf.so", offers("f"))
    middle = forge.below("lib").library("libmiddle.so", uses("f"), needs=(leaf,))
    flags = ("-Wl,-rpath,$ORIGIN/lib", "-Wl,--enable-new-dtags")
    path = forge.library("ext.so", "", *flags, needs=(middle,))
    return Case(path, ReasonKind.MISSING_SONAME, "libleaf.so")


@_case
def runpath_hides_the_rpath_of_loaders(forge: Forge) -> Case:
    leaf = forge.below("lib").library("libleaf.so", offers("f"))
    flags = ("-Wl,-rpath,/nowhere", "-Wl,--enable-new-dtags")
    middle = forge.below("lib").library("libmiddle.so", uses("f"), *flags, needs=(leaf,))
    flags = ("-Wl,-rpath,$ORIGIN/lib", "-Wl,--disable-new-dtags")
    path = forge.library("ext.so", "", *flags, needs=(middle,))
    return Case(path, ReasonKind.MISSING_SONAME, "libleaf.so")


@_case
def default_folders(forge: Forge) -> Case:
    return Case(
        forge.library("ext.so", "double cos(double); double f(double x) { return cos(x); }", "-lm"),
        None,
    )


@_case
def default_folders_forbidden(forge: Forge) -> Case:
    path = forge.library("ext.so", "", "-Wl,-z,nodefaultlib", "-lgomp")
    return Case(path, ReasonKind.MISSING_SONAME, "libgomp.so.1")


@_case
def loaded_library_wins_by_soname(forge: Forge) -> Case:
    torch = forge.torch(offers("in_torch"))
    other = forge.below("other").library("libc10.so", offers("in_other"))
    flags = ("-Wl,-rpath,$ORIGIN/other", "-Wl,--disable-new-dtags")
    path = forge.library("ext.so", uses("in_other"), *flags, needs=(other,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "in_other", torch)


@_case
def needed_by_path(forge: Forge) -> Case:
    dep = forge.library("libdep.so", offers("f"), "-Wl,-soname,/nowhere/libdep.so")
    path = forge.library("ext.so", uses("f"), needs=(dep,))
    return Case(path, ReasonKind.MISSING_SONAME, "/nowhere/libdep.so")


@_case
def without_torch_its_libraries_are_missing(forge: Forge) -> Case:
    torch = forge.torch(offers("f"))
    return Case(_extension(forge, uses("f"), torch), ReasonKind.MISSING_SONAME, "libc10.so")


# Torch itself


@_case
def foreign_torch_library_breaks_torch(forge: Forge) -> Case:
    torch = forge.torch(offers("f"))
    lib = forge.below("torch/lib")
    c10 = lib.folder / "libc10.so"
    flags = ("-Wl,-rpath,$ORIGIN", "-Wl,--enable-new-dtags")
    lib.library(
        "libtorch_python.so", uses("f"), *flags, needs=(c10, lib.folder / "libonly_python.so")
    )
    other = forge.below("other").library("libc10.so", offers("something_else"))
    path = forge.library("ext.so", offers("x"))
    stage = LoadStage.TORCH
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "f", torch, (other.parent,), stage=stage)


@_case
def torch_lacks_a_library(forge: Forge) -> Case:
    torch = forge.torch()
    (torch / "lib" / "libonly_python.so").unlink()
    path = forge.library("ext.so", offers("x"))
    return Case(path, ReasonKind.MISSING_SONAME, "libonly_python.so", torch, stage=LoadStage.TORCH)


@_case
def torch_lacks_a_global_library(forge: Forge) -> Case:
    torch = forge.torch()
    gone = forge.below("away").library("libgone.so", "")
    forge.below("torch/lib").library("libtorch_global_deps.so", "", needs=(gone,))
    path = forge.library("ext.so", offers("x"))
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so", torch, stage=LoadStage.TORCH)


@_case
def torch_lacks_its_global_dependencies(forge: Forge) -> Case:
    torch = forge.torch()
    (torch / "lib" / "libtorch_global_deps.so").unlink()
    path = forge.library("ext.so", offers("x"))
    return Case(path, ReasonKind.MISSING_FILE, "", torch, stage=LoadStage.TORCH)


@_case
def global_dependencies_serve_everyone(forge: Forge) -> Case:
    torch = forge.torch()
    dep = forge.below("torch/lib").library("libdep.so", offers("from_global"))
    flags = ("-Wl,-rpath,$ORIGIN",)
    forge.below("torch/lib").library("libtorch_global_deps.so", "", *flags, needs=(dep,))
    return Case(forge.library("ext.so", uses("from_global")), None, torch=torch)


# Files


def _changed(forge: Forge, offset: int, data: bytes) -> Path:
    path = forge.library("ext.so", offers("f"))
    content = path.read_bytes()
    path.write_bytes(content[:offset] + data + content[offset + len(data) :])
    return path


@_case
def truncated(forge: Forge) -> Case:
    path = forge.library("ext.so", "char data[20000] = {1}; char *p = data + 9;" + offers("f"))
    path.write_bytes(path.read_bytes()[:14_000])
    return Case(path, ReasonKind.TRUNCATED)


@_case
def cut_within_program_headers(forge: Forge) -> Case:
    path = forge.library("ext.so", offers("f"))
    path.write_bytes(path.read_bytes()[:200])
    return Case(path, ReasonKind.TRUNCATED)


@_case
def cut_within_header(forge: Forge) -> Case:
    path = forge.library("ext.so", offers("f"))
    path.write_bytes(path.read_bytes()[:40])
    return Case(path, ReasonKind.NOT_ELF)


@_case
def empty(forge: Forge) -> Case:
    path = forge.folder / "ext.so"
    path.touch()
    return Case(path, ReasonKind.NOT_ELF)


@_case
def text(forge: Forge) -> Case:
    path = forge.folder / "ext.so"
    path.write_text("version https://git-lfs.github.com/spec/v1\n" * 4, encoding="utf-8")
    return Case(path, ReasonKind.NOT_ELF)


@_case
def not_there(forge: Forge) -> Case:
    return Case(forge.folder / "ext.so", ReasonKind.MISSING_FILE)


@_case
def folder(forge: Forge) -> Case:
    (forge.folder / "ext.so").mkdir()
    return Case(forge.folder / "ext.so", ReasonKind.NOT_ELF)


@_case
def foreign_machine(forge: Forge) -> Case:
    return Case(_changed(forge, 18, struct.pack("<H", 243)), ReasonKind.FOREIGN_MACHINE)


@_case
def other_class(forge: Forge) -> Case:
    return Case(_changed(forge, 4, b"\1"), ReasonKind.FOREIGN_MACHINE)


@_case
def other_byte_order(forge: Forge) -> Case:
    return Case(_changed(forge, 5, b"\2"), ReasonKind.FOREIGN_MACHINE)


@_case
def other_system(forge: Forge) -> Case:
    return Case(_changed(forge, 7, b"\x09"), ReasonKind.NOT_ELF)


@_case
def object_file(forge: Forge) -> Case:
    return Case(_changed(forge, 16, struct.pack("<H", 1)), ReasonKind.NOT_A_LIBRARY)


@_case
def program(forge: Forge) -> Case:
    return Case(forge.program("ext.so", "-pie"), ReasonKind.NOT_A_LIBRARY)


@_case
def program_at_a_fixed_address(forge: Forge) -> Case:
    return Case(forge.program("ext.so", "-no-pie"), ReasonKind.NOT_A_LIBRARY)


@_case
def foreign_library_in_the_search_is_passed_over(forge: Forge) -> Case:
    a, _ = _two_sorts(forge)
    path = forge.library("ext.so", uses("a"), "-Wl,-rpath,$ORIGIN/a", needs=(a,))
    wrong = forge.below("wrong").folder / "libdep.so"
    content = a.read_bytes()
    wrong.write_bytes(content[:18] + struct.pack("<H", 183) + content[20:])
    return Case(path, None, library_path=(wrong.parent,))


@_case
def other_class_in_the_search(forge: Forge) -> Case:
    a, _ = _two_sorts(forge)
    path = forge.library("ext.so", uses("a"), needs=(a,))
    content = a.read_bytes()
    a.write_bytes(content[:4] + b"\1" + content[5:])
    return Case(path, ReasonKind.MISSING_SONAME, "libdep.so", library_path=(a.parent,))


@_case
def text_in_the_search_ends_it(forge: Forge) -> Case:
    a, b = _two_sorts(forge)
    path = forge.library("ext.so", uses("a"), "-Wl,-rpath,$ORIGIN/a", needs=(a,))
    b.write_text("INPUT(/usr/lib/libdep.so.1)\n" * 8, encoding="utf-8")
    return Case(path, ReasonKind.NOT_ELF, "libdep.so", library_path=(b.parent,))


# Folders for some processors, and the tokens of search paths


def _tagged(kind: str) -> tuple[str, ...]:
    return f"-Wl,-rpath,$ORIGIN/{kind}", "-Wl,--disable-new-dtags"


def _below(forge: Forge, below: str, *flags: str) -> Case:
    """Open what needs a library that only a folder below the search path has whole."""
    path = forge.library("ext.so", uses("a"), *flags, needs=(_two_sorts(forge)[0],))
    forge.below("lib").library("libdep.so", offers("b"))
    forge.below(f"lib/{below}").library("libdep.so", offers("a"))
    return Case(path, None)


@_case
def processor_folder_of_rpath(forge: Forge) -> Case:
    return _below(forge, "glibc-hwcaps/x86-64-v2", *_tagged("lib"))


@_case
def processor_folder_of_runpath(forge: Forge) -> Case:
    flags = ("-Wl,-rpath,$ORIGIN/lib", "-Wl,--enable-new-dtags")
    return _below(forge, "glibc-hwcaps/x86-64-v2", *flags)


@_case
def processor_folder_of_library_path(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v2")
    return case._replace(library_path=(forge.folder / "lib",))


@_case
def processor_folder_alone(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v2", *_tagged("lib"))
    (forge.folder / "lib" / "libdep.so").unlink()
    return case


@_case
def best_processor_folder_goes_first(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v3", *_tagged("lib"))
    forge.below("lib/glibc-hwcaps/x86-64-v2").library("libdep.so", offers("b"))
    return case


@_case
def processor_folder_of_no_processor(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v99", *_tagged("lib"))
    return case._replace(kind=ReasonKind.UNDEFINED_SYMBOL, name="a")


@_case
def foreign_library_in_a_processor_folder(forge: Forge) -> Case:
    case = _below(forge, "glibc-hwcaps/x86-64-v2", *_tagged("lib"))
    dep = forge.folder / "lib" / "glibc-hwcaps" / "x86-64-v2" / "libdep.so"
    content = dep.read_bytes()
    dep.write_bytes(content[:18] + struct.pack("<H", 183) + content[20:])
    return case._replace(kind=ReasonKind.UNDEFINED_SYMBOL, name="a")


@_case
def token_of_the_platform(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("a"), *_tagged("$PLATFORM"), needs=(_two_sorts(forge)[0],))
    for platform in ("haswell", "xeon_phi", "x86_64", "aarch64"):
        forge.below(platform).library("libdep.so", offers("a"))
    return Case(path, None)


@_case
def token_of_the_library_folder(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("a"), *_tagged("${LIB}"), needs=(_two_sorts(forge)[0],))
    for folder in ("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64"):
        forge.below(folder).library("libdep.so", offers("a"))
    return Case(path, None)


@_case
def token_within_a_word(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("a"), *_tagged("$LIBRARY"), needs=(_two_sorts(forge)[0],))
    forge.below("$LIBRARY").library("libdep.so", offers("a"))
    return Case(path, None)


# What is found, and not taken


@_case
def not_for_dlopen(forge: Forge) -> Case:
    return Case(forge.library("ext.so", "", "-Wl,-z,nodlopen"), ReasonKind.NOT_FOR_DLOPEN)


@_case
def dependency_not_for_dlopen(forge: Forge) -> Case:
    dep = forge.library("libdep.so", offers("f"), "-Wl,-z,nodlopen")
    path = forge.library("ext.so", uses("f"), "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, ReasonKind.NOT_FOR_DLOPEN, "libdep.so")


@_case
def preloaded_and_not_for_dlopen(forge: Forge) -> Case:
    preload = forge.library("libpre.so", offers("f"), "-Wl,-z,nodlopen")
    path = forge.library("ext.so", uses("f"), needs=(preload,))
    return Case(path, None, preload=preload)


@_case
def filter_of_a_missing_library(forge: Forge) -> Case:
    path = forge.library("ext.so", offers("f"), "-Wl,-F,libgone.so")
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so")


@_case
def auxiliary_filter_of_a_missing_library(forge: Forge) -> Case:
    return Case(forge.library("ext.so", offers("f"), "-Wl,-f,libgone.so"), None)


@_case
def filtered_library_brings_its_symbols(forge: Forge) -> Case:
    forge.library("libbehind.so", offers("a"))
    flags = ("-Wl,-F,libbehind.so", "-Wl,-rpath,$ORIGIN")
    dep = forge.library("libdep.so", offers("b"), *flags)
    path = forge.library("ext.so", uses("a", "b"), "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, None)


@_case
def filtered_library_wants_what_is_missing(forge: Forge) -> Case:
    away = forge.below("away").library("libgone.so", offers("g"))
    forge.library("libbehind.so", offers("a"), needs=(away,))
    flags = ("-Wl,-f,libbehind.so", "-Wl,-rpath,$ORIGIN")
    path = forge.library("ext.so", uses("a"), *flags)
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so")


@_case
def filter_of_itself(forge: Forge) -> Case:
    return Case(forge.library("ext.so", offers("f"), "-Wl,-F,ext.so", "-Wl,-rpath,$ORIGIN"), None)


def _needs_level(path: Path, bits: int) -> Path:
    """Change the levels in a file that the linker was told to mark for x86-64-v4."""
    data = path.read_bytes()
    at = data.index(struct.pack("<II", 0xC0008002, 4)) + 8
    path.write_bytes(data[:at] + struct.pack("<I", bits) + data[at + 4 :])
    return path


@_case
def made_for_a_processor_of_the_future(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("gone"), "-Wl,-z,x86-64-v4")
    return Case(_needs_level(path, 1 << 9), ReasonKind.PROCESSOR_TOO_OLD)


@_case
def dependency_for_a_processor_of_the_future(forge: Forge) -> Case:
    dep = _needs_level(forge.library("libdep.so", offers("f"), "-Wl,-z,x86-64-v4"), 1 << 9)
    path = forge.library("ext.so", uses("gone"), "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, ReasonKind.PROCESSOR_TOO_OLD)


@_case
def made_for_the_oldest_processor(forge: Forge) -> Case:
    return Case(_needs_level(forge.library("ext.so", offers("f"), "-Wl,-z,x86-64-v4"), 1), None)


# Thread-local variables


def _thread_local(size: int, model: str = "initial-exec") -> str:
    there = f'__thread char there[{size}] __attribute__((tls_model("{model}")));'
    return f"{there} char *get(void) {{ return there; }}"


@_case
def few_thread_local_variables(forge: Forge) -> Case:
    return Case(forge.library("ext.so", _thread_local(600)), None)


@_case
def too_many_thread_local_variables(forge: Forge) -> Case:
    return Case(forge.library("ext.so", _thread_local(4000)), ReasonKind.STATIC_TLS)


@_case
def too_many_thread_local_variables_together(forge: Forge) -> Case:
    deps = [
        forge.library(f"libdep{size}.so", "static " + _thread_local(size)) for size in (1500, 900)
    ]
    path = forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=tuple(deps))
    return Case(path, ReasonKind.STATIC_TLS)


@_case
def one_thread_local_variable_of_many_libraries(forge: Forge) -> Case:
    """All of them mean the first library's, so that one place is enough."""
    deps = [forge.library(f"libdep{n}.so", _thread_local(500)) for n in range(6)]
    return Case(forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=tuple(deps)), None)


@_case
def many_thread_local_variables_elsewhere(forge: Forge) -> Case:
    """Only a fixed distance wants a place in the block that every thread has from its start."""
    return Case(forge.library("ext.so", _thread_local(100_000, "global-dynamic")), None)


@_case
def many_thread_local_variables_of_a_dependency(forge: Forge) -> Case:
    dep = forge.library("libdep.so", _thread_local(100_000, "global-dynamic"))
    source = 'extern __thread char there[] __attribute__((tls_model("initial-exec")));'
    source += "char *mine(void) { return there; }"
    path = forge.library("ext.so", source, "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, ReasonKind.STATIC_TLS)


@_case
def thread_local_variables_from_the_start(forge: Forge) -> Case:
    preload = forge.library("libpre.so", _thread_local(100_000))
    return Case(forge.library("ext.so", "", needs=(preload,)), None, preload=preload)


# Files without what is loaded


@_case
def debug_information_alone(forge: Forge) -> Case:
    path = forge.library("ext.so", "char data[20000] = {1};" + offers("f"), "-g")
    subprocess.run(["objcopy", "--only-keep-debug", path], check=True)
    return Case(path, ReasonKind.NOT_A_LIBRARY)
