"""The model in hand-made trees: other machines, other roots, and what cannot be decided."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.abi import StringAbi
from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.predict import Predictor
from fadoctor.binary.prediction import LoadStage
from fadoctor.binary.reason import ReasonKind
from fadoctor.binary.search import FoundBy
from fadoctor.binary.similar_overload import hints_for
from tests.binaries.elf_writer import AARCH64, X86_64, Spec, Symbol, elf_file
from tests.binaries.system import LOADER, System

if TYPE_CHECKING:
    from pathlib import Path


_PROGRAM = elf_file(Spec(interpreter="/lib64/ld.so"))
RISCV = _PROGRAM[:18] + b"\xf3\0" + _PROGRAM[20:]


@pytest.fixture(params=[X86_64, AARCH64], ids=["x86-64", "aarch64"])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> System:
    return System(tmp_path, request.param)


def cuda_needs(*imports: Symbol) -> Spec:
    """Return an extension that needs the CUDA driver and its runtime."""
    return Spec(needed=("libcuda.so.1", "libcudart.so.12", "libc.so.6"), imports=imports)


def test_healthy_extension_loads(system: System) -> None:
    wanted = (Symbol("malloc", "GLIBC_2.17", "libc.so.6"), Symbol("PyLong_FromLong"))
    path = system.put("/venv/ext.so", Spec(needed=("libc.so.6",), imports=wanted))
    found = system.predict(path)
    assert (found.loads, found.reason, found.glibc) == (True, None, "2.17")
    assert [(one.soname, one.path, one.origin) for one in found.libraries] == [
        ("libc.so.6", "/usr/lib/libc.so.6", FoundBy.DEFAULT)
    ]


def test_symbol_and_version_are_named(system: System) -> None:
    wanted = (Symbol("pow", "GLIBC_2.38", "libc.so.6"), Symbol("vanished"))
    path = system.put("/venv/ext.so", Spec(needed=("libc.so.6",), imports=wanted))
    found = system.predict(path)
    assert found.reason is not None
    assert (found.reason.kind, found.reason.name) == (ReasonKind.VERSION_NOT_FOUND, "GLIBC_2.38")
    assert found.reason.provider == "/usr/lib/libc.so.6"
    assert [reason.name for reason in found.undefined] == ["pow", "vanished"]
    assert found.glibc == "2.38"


@pytest.mark.parametrize("sysv", [False, True], ids=["gnu-hash", "sysv-hash"])
def test_both_hash_tables(system: System, sysv: bool) -> None:  # noqa: FBT001 -- a parameter
    names = [f"function_{number}" for number in range(40)]
    exports = tuple(Symbol(name) for name in names)
    system.put("/venv/libdep.so", Spec(soname="libdep.so", exports=exports, sysv=sysv))
    imports = tuple(Symbol(name) for name in (*names, "function_40"))
    spec = Spec(needed=("libdep.so",), runpath="$ORIGIN", imports=imports, sysv=sysv)
    found = system.predict(system.put("/venv/ext.so", spec))
    assert [reason.name for reason in found.undefined] == ["function_40"]


def test_weak_and_unreferenced_symbols_are_not_wanted(system: System) -> None:
    imports = (Symbol("weak", weak=True), Symbol("idle", referenced=False))
    path = system.put("/venv/ext.so", Spec(imports=imports))
    assert system.predict(path).loads is True


def test_missing_driver_is_told_apart(system: System) -> None:
    system.put("/usr/lib/libcudart.so.12", Spec(soname="libcudart.so.12"))
    path = system.put("/venv/ext.so", cuda_needs(Symbol("cuMemAlloc_v2"), Symbol("PyGone")))
    found = system.predict(path)
    assert found.loads is False
    assert found.reason is not None
    assert (found.reason.kind, found.reason.name) == (ReasonKind.MISSING_SONAME, "libcuda.so.1")
    assert found.beyond_driver is not None
    assert found.beyond_driver.reason is not None
    assert found.beyond_driver.reason.name == "PyGone"
    assert found.unchecked == ("cuMemAlloc_v2",)
    assert found.libcudart == "libcudart.so.12"


def test_with_a_driver_nothing_else_would_be_wrong(system: System) -> None:
    system.put("/usr/lib/libcudart.so.12", Spec(soname="libcudart.so.12"))
    found = system.predict(system.put("/venv/ext.so", cuda_needs(Symbol("cuMemAlloc_v2"))))
    assert found.beyond_driver is not None
    assert (found.beyond_driver.loads, found.beyond_driver.reason) == (None, None)
    found = system.predict(system.put("/venv/ext2.so", cuda_needs()))
    assert found.beyond_driver is not None
    assert found.beyond_driver.loads is True


def test_consequences_of_a_missing_library_are_not_listed(system: System) -> None:
    imports = (
        Symbol("cudaMalloc", "libcudart.so.12", "libcudart.so.12"),
        Symbol("cudaFree"),
        Symbol("_ZN3c105ErrorC2Ev"),
    )
    system.put("/usr/lib/libc10.so", Spec(soname="libc10.so"))
    spec = Spec(needed=("libcudart.so.12", "libc10.so", "libc.so.6"), imports=imports)
    found = system.predict(system.put("/venv/ext.so", spec))
    assert [reason.name for reason in found.missing] == ["libcudart.so.12"]
    assert [reason.name for reason in found.undefined] == ["_ZN3c105ErrorC2Ev"]
    assert found.unchecked == ("cudaMalloc", "cudaFree")


def test_cache_of_the_system(system: System) -> None:
    system.put("/opt/libs/libdep.so", Spec(soname="libdep.so"))
    system.write("/etc/ld.so.cache", ld_cache({"libdep.so": "/opt/libs/libdep.so"}, system.machine))
    found = system.predict(system.put("/venv/ext.so", Spec(needed=("libdep.so",))))
    assert [(one.path, one.origin) for one in found.libraries] == [
        ("/opt/libs/libdep.so", FoundBy.LD_CACHE)
    ]


def ld_cache(entries: dict[str, str], machine: int) -> bytes:
    """Return a cache with a table of the old kind before it, and a library of another machine."""
    flags = {X86_64: 0x0303, AARCH64: 0x0A03}[machine]
    table, strings = b"", b""
    start = 48 + 24 * (len(entries) + 1)
    for name, path in (("libdep.so", "/other/machine"), *entries.items()):
        kind = 0x0803 if path == "/other/machine" else flags
        at = start + len(strings)
        strings += name.encode() + b"\0" + path.encode() + b"\0"
        table += struct.pack("<iIIIQ", kind, at, at + len(name) + 1, 0, 0)
    head = struct.pack("<20sII20x", b"glibc-ld.so.cache1.1", len(entries) + 1, len(strings))
    return b"ld.so-1.7.0\0" + struct.pack("<I", 0) + head + table + strings


def test_preload_file_of_the_system(system: System) -> None:
    system.put("/opt/libpre.so", Spec(soname="libpre.so", exports=(Symbol("extra"),)))
    system.write("/etc/ld.so.preload", b"# a comment\n/opt/libpre.so /opt/gone.so\n")
    path = system.put("/venv/ext.so", Spec(imports=(Symbol("extra"),)))
    assert system.predict(path).loads is True


def test_rpath_of_the_executable(system: System) -> None:
    spec = Spec(needed=("libc.so.6",), interpreter=LOADER[system.machine], rpath="$ORIGIN/../mylib")
    system.put("/usr/bin/python3.11", spec)
    system.put("/usr/mylib/libstdc++.so.6", Spec(soname="libstdc++.so.6"))
    found = system.predict(system.put("/venv/ext.so", Spec(needed=("libstdc++.so.6",))))
    assert [(one.path, one.origin) for one in found.libraries] == [
        ("/usr/bin/../mylib/libstdc++.so.6", FoundBy.RPATH)
    ]


def test_python_in_a_library(system: System) -> None:
    needed = ("libpython3.11.so.1.0",)
    spec = Spec(needed=needed, interpreter=LOADER[system.machine], runpath="$ORIGIN/../lib")
    system.put("/usr/bin/python3.11", spec)
    exports = (Symbol("PyOnlyThere"),)
    system.put("/usr/lib/libpython3.11.so.1.0", Spec(soname=needed[0], exports=exports))
    path = system.put("/venv/ext.so", Spec(imports=(Symbol("PyOnlyThere"),)))
    assert system.predict(path).loads is True


def test_interpreter_that_does_not_start(system: System) -> None:
    spec = Spec(needed=("libpython3.11.so.1.0",), interpreter=LOADER[system.machine])
    system.put("/usr/bin/python3.11", spec)
    found = system.predict(system.put("/venv/ext.so", Spec()))
    assert (found.loads, found.stage) == (False, LoadStage.INTERPRETER)
    assert found.reason is not None
    assert found.reason.name == "libpython3.11.so.1.0"


def test_links_do_not_lead_out_of_the_root(
    system: System, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "libdep.so").write_bytes(elf_file(Spec(machine=system.machine)))
    system.link("/usr/lib/libdep.so", str(outside / "libdep.so"))
    system.link("/usr/lib/libup.so", "../../../../../../../../.." + str(outside / "libdep.so"))
    path = system.put("/venv/ext.so", Spec(needed=("libdep.so", "libup.so")))
    assert [reason.name for reason in system.predict(path).missing] == ["libdep.so", "libup.so"]


def test_ring_of_links(system: System) -> None:
    system.link("/usr/lib/liba.so", "libb.so")
    system.link("/usr/lib/libb.so", "liba.so")
    path = system.put("/venv/ext.so", Spec(needed=("liba.so",)))
    assert system.predict(path).loads is not True


def test_pipe_is_not_opened(system: System) -> None:
    os.mkfifo(system.root / "usr" / "lib" / "libpipe.so")
    found = system.predict(system.put("/venv/ext.so", Spec(needed=("libpipe.so",))))
    assert found.loads is None
    assert found.reason is not None
    assert found.reason.kind is ReasonKind.UNREADABLE


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (elf_file(Spec(interpreter="/lib/ld-musl-x86_64.so.1")), ReasonKind.MUSL),
        (RISCV, ReasonKind.MACHINE_UNKNOWN),
        (elf_file(Spec()), ReasonKind.INTERPRETER_UNKNOWN),
        (b'#!/bin/sh\nexec python3 "$@"\n' + bytes(64), ReasonKind.INTERPRETER_UNKNOWN),
        (b"", ReasonKind.INTERPRETER_UNKNOWN),
    ],
    ids=["musl", "riscv", "static", "script", "empty"],
)
def test_interpreters_that_are_not_understood(
    tmp_path: Path, program: bytes, kind: ReasonKind
) -> None:
    system = System(tmp_path)
    system.write("/usr/bin/python3.11", program)
    found = system.predict(system.put("/venv/ext.so", Spec()))
    assert (found.loads, found.reason and found.reason.kind) == (None, kind)


def test_a_file_describes_itself_without_an_interpreter(system: System) -> None:
    spec = cuda_needs(Symbol("malloc", "GLIBC_2.17", "libc.so.6"))
    path = system.put("/venv/ext.so", spec)
    with Predictor(LoaderTarget(executable="", root=str(system.root))) as predictor:
        found = predictor.predict(path)
        assert predictor.string_abi(path) is StringAbi.NEUTRAL
    assert (found.needed, found.glibc) == (spec.needed, "2.17")
    assert (found.libcudart, found.loads) == ("libcudart.so.12", None)


def test_no_interpreter(tmp_path: Path) -> None:
    with Predictor(LoaderTarget(executable="", root=str(tmp_path))) as predictor:
        found = predictor.predict("/ext.so")
        assert (found.loads, found.reason and found.reason.kind) == (
            None,
            ReasonKind.INTERPRETER_UNKNOWN,
        )
        assert predictor.check_torch().loads is None
        assert predictor.libraries() == ()
        assert hints_for(predictor, found) == ()
        assert predictor.torch_libraries() == ()
        assert predictor.torch_string_abi() is None


def test_extension_for_another_machine(tmp_path: Path) -> None:
    system = System(tmp_path)
    path = system.write("/venv/ext.so", elf_file(Spec(machine=AARCH64)))
    found = system.predict(path)
    assert (found.loads, found.reason and found.reason.kind) == (False, ReasonKind.FOREIGN_MACHINE)


def test_unreadable_library_leaves_it_open(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    system = System(tmp_path)
    library = system.put("/usr/lib/libdep.so", Spec(soname="libdep.so"))
    (tmp_path / library.lstrip("/")).chmod(0)
    found = system.predict(system.put("/venv/ext.so", Spec(needed=("libdep.so",))))
    assert (found.loads, found.reason and found.reason.kind) == (None, ReasonKind.UNREADABLE)


def test_damaged_library_leaves_it_open(system: System) -> None:
    system.put("/usr/lib/libdep.so", Spec(soname="libdep.so", extra=((5, 1 << 40),)))
    found = system.predict(system.put("/venv/ext.so", Spec(needed=("libdep.so",))))
    assert (found.loads, found.reason and found.reason.kind) == (None, ReasonKind.MALFORMED)


def test_certain_obstacle_outweighs_an_uncertain_one(system: System) -> None:
    system.put("/usr/lib/libdep.so", Spec(soname="libdep.so", extra=((5, 1 << 40),)))
    path = system.put("/venv/ext.so", Spec(needed=("libdep.so", "libgone.so")))
    found = system.predict(path)
    assert (found.loads, found.reason and found.reason.name) == (False, "libgone.so")
