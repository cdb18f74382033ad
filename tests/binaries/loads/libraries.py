"""Libraries that are searched for, and torch itself."""

from __future__ import annotations

from fadoctor.binary.prediction import LoadStage
from fadoctor.binary.reason import ReasonKind
from tests.binaries.forge import Forge, offers, uses
from tests.binaries.loads.cases import Case, extension, listed, two_sorts

# Libraries


@listed
def missing_soname(forge: Forge) -> Case:
    away = forge.below("away").library("libgone.so.12", offers("f"))
    path = forge.library("ext.so", uses("f", "g"), needs=(away,))
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so.12")


@listed
def missing_soname_of_a_dependency(forge: Forge) -> Case:
    away = forge.below("away").library("libgone.so", offers("f"))
    away2 = forge.below("away").library("libgone2.so", offers("f"))
    dep = forge.library("libdep.so", "", needs=(away,))
    path = forge.library("ext.so", "", "-Wl,-rpath,$ORIGIN", needs=(dep, away2))
    return Case(path, ReasonKind.MISSING_SONAME, "libgone2.so")


@listed
def rpath_before_library_path(forge: Forge) -> Case:
    a, b = two_sorts(forge)
    flags = ("-Wl,-rpath,$ORIGIN/a", "-Wl,--disable-new-dtags")
    return Case(
        forge.library("ext.so", uses("a"), *flags, needs=(a,)), None, library_path=(b.parent,)
    )


@listed
def library_path_before_runpath(forge: Forge) -> Case:
    a, b = two_sorts(forge)
    flags = ("-Wl,-rpath,$ORIGIN/a", "-Wl,--enable-new-dtags")
    path = forge.library("ext.so", uses("a"), *flags, needs=(a,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "a", library_path=(b.parent,))


@listed
def rpath_holds_for_dependencies(forge: Forge) -> Case:
    leaf = forge.below("lib").library("libleaf.so", offers("f"))
    middle = forge.below("lib").library("libmiddle.so", uses("f"), needs=(leaf,))
    flags = ("-Wl,-rpath,${ORIGIN}/lib", "-Wl,--disable-new-dtags")
    return Case(forge.library("ext.so", "", *flags, needs=(middle,)), None)


@listed
def runpath_does_not_hold_for_dependencies(forge: Forge) -> Case:
    leaf = forge.below("lib").library("libleaf.so", offers("f"))
    middle = forge.below("lib").library("libmiddle.so", uses("f"), needs=(leaf,))
    flags = ("-Wl,-rpath,$ORIGIN/lib", "-Wl,--enable-new-dtags")
    path = forge.library("ext.so", "", *flags, needs=(middle,))
    return Case(path, ReasonKind.MISSING_SONAME, "libleaf.so")


@listed
def runpath_hides_the_rpath_of_loaders(forge: Forge) -> Case:
    leaf = forge.below("lib").library("libleaf.so", offers("f"))
    flags = ("-Wl,-rpath,/nowhere", "-Wl,--enable-new-dtags")
    middle = forge.below("lib").library("libmiddle.so", uses("f"), *flags, needs=(leaf,))
    flags = ("-Wl,-rpath,$ORIGIN/lib", "-Wl,--disable-new-dtags")
    path = forge.library("ext.so", "", *flags, needs=(middle,))
    return Case(path, ReasonKind.MISSING_SONAME, "libleaf.so")


@listed
def default_folders(forge: Forge) -> Case:
    return Case(
        forge.library("ext.so", "double cos(double); double f(double x) { return cos(x); }", "-lm"),
        None,
    )


@listed
def default_folders_forbidden(forge: Forge) -> Case:
    path = forge.library("ext.so", "", "-Wl,-z,nodefaultlib", "-lgomp")
    return Case(path, ReasonKind.MISSING_SONAME, "libgomp.so.1")


@listed
def loaded_library_wins_by_soname(forge: Forge) -> Case:
    torch = forge.torch(offers("in_torch"))
    other = forge.below("other").library("libc10.so", offers("in_other"))
    flags = ("-Wl,-rpath,$ORIGIN/other", "-Wl,--disable-new-dtags")
    path = forge.library("ext.so", uses("in_other"), *flags, needs=(other,))
    return Case(path, ReasonKind.UNDEFINED_SYMBOL, "in_other", torch)


@listed
def needed_by_path(forge: Forge) -> Case:
    dep = forge.library("libdep.so", offers("f"), "-Wl,-soname,/nowhere/libdep.so")
    path = forge.library("ext.so", uses("f"), needs=(dep,))
    return Case(path, ReasonKind.MISSING_SONAME, "/nowhere/libdep.so")


@listed
def without_torch_its_libraries_are_missing(forge: Forge) -> Case:
    torch = forge.torch(offers("f"))
    return Case(extension(forge, uses("f"), torch), ReasonKind.MISSING_SONAME, "libc10.so")


# Torch itself


@listed
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


@listed
def torch_lacks_a_library(forge: Forge) -> Case:
    torch = forge.torch()
    (torch / "lib" / "libonly_python.so").unlink()
    path = forge.library("ext.so", offers("x"))
    return Case(path, ReasonKind.MISSING_SONAME, "libonly_python.so", torch, stage=LoadStage.TORCH)


@listed
def torch_lacks_a_global_library(forge: Forge) -> Case:
    torch = forge.torch()
    gone = forge.below("away").library("libgone.so", "")
    forge.below("torch/lib").library("libtorch_global_deps.so", "", needs=(gone,))
    path = forge.library("ext.so", offers("x"))
    return Case(path, ReasonKind.MISSING_SONAME, "libgone.so", torch, stage=LoadStage.TORCH)


@listed
def torch_lacks_its_global_dependencies(forge: Forge) -> Case:
    torch = forge.torch()
    (torch / "lib" / "libtorch_global_deps.so").unlink()
    path = forge.library("ext.so", offers("x"))
    return Case(path, ReasonKind.MISSING_FILE, "", torch, stage=LoadStage.TORCH)


@listed
def global_dependencies_serve_everyone(forge: Forge) -> Case:
    torch = forge.torch()
    dep = forge.below("torch/lib").library("libdep.so", offers("from_global"))
    flags = ("-Wl,-rpath,$ORIGIN",)
    forge.below("torch/lib").library("libtorch_global_deps.so", "", *flags, needs=(dep,))
    return Case(forge.library("ext.so", uses("from_global")), None, torch=torch)
