"""What is found and not taken: flags, filters, processors, thread-local variables."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from fadoctor.binary.reason import ReasonKind
from tests.binaries.forge import Forge, offers, uses
from tests.binaries.loads.cases import Case, listed

if TYPE_CHECKING:
    from pathlib import Path


# What is found, and not taken


@listed
def not_for_dlopen(forge: Forge) -> Case:
    return Case(forge.library("ext.so", "", "-Wl,-z,nodlopen"), ReasonKind.NOT_FOR_DLOPEN)


@listed
def dependency_not_for_dlopen(forge: Forge) -> Case:
    dep = forge.library("libdep.so", offers("f"), "-Wl,-z,nodlopen")
    path = forge.library("ext.so", uses("f"), "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, ReasonKind.NOT_FOR_DLOPEN, "libdep.so")


@listed
def preloaded_and_not_for_dlopen(forge: Forge) -> Case:
    preload = forge.library("libpre.so", offers("f"), "-Wl,-z,nodlopen")
    path = forge.library("ext.so", uses("f"), needs=(preload,))
    return Case(path, None, preload=preload)


@listed
def filter_of_a_missing_library(forge: Forge) -> Case:
    path = forge.library("ext.so", offers("f"), "-Wl,-F,libgone.so")
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so")


@listed
def auxiliary_filter_of_a_missing_library(forge: Forge) -> Case:
    return Case(forge.library("ext.so", offers("f"), "-Wl,-f,libgone.so"), None)


@listed
def filtered_library_brings_its_symbols(forge: Forge) -> Case:
    forge.library("libbehind.so", offers("a"))
    flags = ("-Wl,-F,libbehind.so", "-Wl,-rpath,$ORIGIN")
    dep = forge.library("libdep.so", offers("b"), *flags)
    path = forge.library("ext.so", uses("a", "b"), "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, None)


@listed
def filtered_library_wants_what_is_missing(forge: Forge) -> Case:
    away = forge.below("away").library("libgone.so", offers("g"))
    forge.library("libbehind.so", offers("a"), needs=(away,))
    flags = ("-Wl,-f,libbehind.so", "-Wl,-rpath,$ORIGIN")
    path = forge.library("ext.so", uses("a"), *flags)
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so")


@listed
def filter_of_itself(forge: Forge) -> Case:
    return Case(forge.library("ext.so", offers("f"), "-Wl,-F,ext.so", "-Wl,-rpath,$ORIGIN"), None)


def _needs_level(path: Path, bits: int) -> Path:
    """Change the levels in a file that the linker was told to mark for x86-64-v4."""
    data = path.read_bytes()
    at = data.index(struct.pack("<II", 0xC0008002, 4)) + 8
    path.write_bytes(data[:at] + struct.pack("<I", bits) + data[at + 4 :])
    return path


@listed
def made_for_a_processor_of_the_future(forge: Forge) -> Case:
    path = forge.library("ext.so", uses("gone"), "-Wl,-z,x86-64-v4")
    return Case(_needs_level(path, 1 << 9), ReasonKind.PROCESSOR_TOO_OLD)


@listed
def dependency_for_a_processor_of_the_future(forge: Forge) -> Case:
    dep = _needs_level(forge.library("libdep.so", offers("f"), "-Wl,-z,x86-64-v4"), 1 << 9)
    path = forge.library("ext.so", uses("gone"), "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, ReasonKind.PROCESSOR_TOO_OLD)


@listed
def made_for_the_oldest_processor(forge: Forge) -> Case:
    return Case(_needs_level(forge.library("ext.so", offers("f"), "-Wl,-z,x86-64-v4"), 1), None)


# Thread-local variables


def _thread_local(size: int, model: str = "initial-exec") -> str:
    there = f'__thread char there[{size}] __attribute__((tls_model("{model}")));'
    return f"{there} char *get(void) {{ return there; }}"


@listed
def few_thread_local_variables(forge: Forge) -> Case:
    return Case(forge.library("ext.so", _thread_local(600)), None)


@listed
def too_many_thread_local_variables(forge: Forge) -> Case:
    return Case(forge.library("ext.so", _thread_local(4000)), ReasonKind.STATIC_TLS)


@listed
def too_many_thread_local_variables_together(forge: Forge) -> Case:
    deps = [
        forge.library(f"libdep{size}.so", "static " + _thread_local(size)) for size in (1500, 900)
    ]
    path = forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=tuple(deps))
    return Case(path, ReasonKind.STATIC_TLS)


@listed
def one_thread_local_variable_of_many_libraries(forge: Forge) -> Case:
    """All of them mean the first library's, so that one place is enough."""
    deps = [forge.library(f"libdep{n}.so", _thread_local(500)) for n in range(6)]
    return Case(forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=tuple(deps)), None)


@listed
def many_thread_local_variables_elsewhere(forge: Forge) -> Case:
    """Only a fixed distance wants a place in the block that every thread has from its start."""
    return Case(forge.library("ext.so", _thread_local(100_000, "global-dynamic")), None)


@listed
def many_thread_local_variables_of_a_dependency(forge: Forge) -> Case:
    dep = forge.library("libdep.so", _thread_local(100_000, "global-dynamic"))
    source = 'extern __thread char there[] __attribute__((tls_model("initial-exec")));'
    source += "char *mine(void) { return there; }"
    path = forge.library("ext.so", source, "-Wl,-rpath,$ORIGIN", needs=(dep,))
    return Case(path, ReasonKind.STATIC_TLS)


@listed
def thread_local_variables_from_the_start(forge: Forge) -> Case:
    preload = forge.library("libpre.so", _thread_local(100_000))
    return Case(forge.library("ext.so", "", needs=(preload,)), None, preload=preload)
