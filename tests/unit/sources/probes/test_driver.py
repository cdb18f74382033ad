"""What files tell about the NVIDIA driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.processes.run import run
from fadoctor.sources.probes.driver import KernelDriver, probe, read_kernel_driver
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  "
    "(dvs-builder@U22-I3-AE18-23-3)  Fri Jan 24 03:08:48 UTC 2025\nGCC version:  gcc 13.3.0\n"
)
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\n"
ELF64 = b"\x7fELF\x02\x01\x01"


def world(root: Path, system: str = "linux", **environ: str) -> World:
    roots = {"home": "/home/ada"}
    target = Target(kind="environment", label="test", reason="test", roots=roots)
    return World(target=target, environ=environ, run=run, os=system, root=root)


def put(root: Path, *paths: str, content: bytes = ELF64) -> None:
    for path in paths:
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def link(root: Path, path: str, to: str) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(to)


@pytest.mark.parametrize(
    ("text", "version", "is_open"),
    [
        (OPEN, "570.86.15", True),
        (CLOSED, "470.82.01", False),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.48  Thu Mar 22", "390.48", False),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build",
            "540.4.0",
            True,
        ),
    ],
)
def test_the_line_of_the_kernel_module(
    tmp_path: Path, text: str, version: str, *, is_open: bool
) -> None:
    put(tmp_path, "/proc/driver/nvidia/version", content=text.encode())
    driver = read_kernel_driver(world(tmp_path))
    assert isinstance(driver, KernelDriver)
    assert (driver.version, driver.is_open) == (version, is_open)
    kind = "open" if is_open else "proprietary"
    fact = probe(world(tmp_path), {})["driver.kernel_module"]
    assert fact == Known(kind, fact.source)
    assert version in fact.source


def test_a_line_that_is_not_understood(tmp_path: Path) -> None:
    put(tmp_path, "/proc/driver/nvidia/version", content=b"NVRM version: \x1b[2J\xff" * 1000)
    fact = probe(world(tmp_path), {})["driver.kernel_module"]
    assert isinstance(fact, Unknown)
    assert fact.reason.startswith("not understood: NVRM version: ?[2J")


def test_a_machine_without_a_driver(tmp_path: Path) -> None:
    facts = probe(world(tmp_path), {})
    assert facts["driver.device_nodes"] == Known(False, "in /dev: neither nvidia* nor dxg")
    for name in (
        "driver.kernel_module",
        "driver.library",
        "driver.library_version",
        "driver.forward_compat",
    ):
        assert isinstance(facts[name], Absent)


@pytest.mark.parametrize(
    ("nodes", "there"),
    [
        (["nvidiactl", "nvidia0", "nvidia1", "nvidia-uvm"], True),
        (["nvidiactl", "nvidia-uvm"], False),
        (["nvidia3"], False),
        (["dxg"], True),
        (["nvmap", "nvhost-ctrl-gpu"], True),
        (["null"], False),
    ],
)
def test_device_nodes(tmp_path: Path, nodes: list[str], *, there: bool) -> None:
    put(tmp_path, *[f"/dev/{node}" for node in nodes])
    fact = probe(world(tmp_path), {})["driver.device_nodes"]
    assert fact == Known(there, fact.source)


def test_a_library_without_device_nodes_as_in_a_container(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib/x86_64-linux-gnu/libcuda.so.1")
    facts = probe(world(tmp_path), {})
    assert facts["driver.library"] == Known(
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "a folder of the loader"
    )
    assert facts["driver.device_nodes"] == Known(False, facts["driver.device_nodes"].source)


def test_the_loader_s_order(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib64/libcuda.so.1", "/opt/driver/libcuda.so.1", "/home/ada/libcuda.so.1")
    cache = (
        b"glibc-ld.so.cache1.1\0\x07libcuda.so.1\0/opt/driver/libcuda.so.1\0/usr/lib/libc.so.6\0"
    )
    put(tmp_path, "/etc/ld.so.cache", content=cache)
    fact = probe(world(tmp_path, LD_LIBRARY_PATH="relative:/none:/home/ada/"), {})["driver.library"]
    assert fact == Known("~/libcuda.so.1", "LD_LIBRARY_PATH")
    fact = probe(world(tmp_path), {})["driver.library"]
    assert fact == Known("/opt/driver/libcuda.so.1", "/etc/ld.so.cache")
    put(tmp_path, "/etc/ld.so.cache", content=b"\xff\0/gone/libcuda.so.1\0" * 1000)
    fact = probe(world(tmp_path), {})["driver.library"]
    assert fact == Known("/usr/lib64/libcuda.so.1", "a folder of the loader")


def test_stand_ins_and_32_bit_libraries_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "/usr/local/cuda/lib64/stubs/libcuda.so.1")
    put(tmp_path, "/usr/lib/libcuda.so.1", content=b"\x7fELF\x01\x01\x01")
    (tmp_path / "lib64" / "libcuda.so.1").mkdir(parents=True)
    link(tmp_path, "/usr/lib64/libcuda.so.1", "libcuda.so.550")
    facts = probe(world(tmp_path, LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs"), {})
    assert isinstance(facts["driver.library"], Absent)
    assert isinstance(facts["driver.forward_compat"], Absent)


def test_folders_that_the_loader_may_not_search_are_named_as_such(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib/wsl/lib/libcuda.so.1")
    fact = probe(world(tmp_path), {})["driver.library"]
    assert fact == Known("/usr/lib/wsl/lib/libcuda.so.1", fact.source)
    assert "may not search" in fact.source


@pytest.mark.parametrize(
    ("folder", "compat"),
    [
        ("/usr/local/cuda-12.4/compat", True),
        ("/usr/local/cuda/compat/lib.real", True),
        ("/opt/conda/cuda-compat", True),
        ("/usr/lib/compatible", False),
        ("/usr/local/cuda/lib64", False),
    ],
)
def test_forward_compatibility(tmp_path: Path, folder: str, *, compat: bool) -> None:
    put(tmp_path, f"{folder}/libcuda.so.1")
    fact = probe(world(tmp_path, LD_LIBRARY_PATH=folder), {})["driver.forward_compat"]
    assert fact == Known(compat, fact.source)


@pytest.mark.parametrize("absolute", [True, False])
def test_forward_compatibility_behind_links(tmp_path: Path, *, absolute: bool) -> None:
    put(tmp_path, "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06")
    up = "/" if absolute else "../../"
    link(tmp_path, "/opt/lib/libcuda.so.1", f"{up}usr/local/cuda-13.0/compat/libcuda.so.580.65.06")
    put(tmp_path, "/opt/lib/keep")
    facts = probe(world(tmp_path, LD_LIBRARY_PATH="/opt/lib"), {})
    if absolute:  # it leads out of a recorded tree, to a file that is not there
        assert isinstance(facts["driver.library"], Absent)
    else:
        fact = facts["driver.forward_compat"]
        assert fact == Known(True, fact.source)
        assert "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06" in fact.source


def test_a_loop_of_links_is_no_library(tmp_path: Path) -> None:
    link(tmp_path, "/opt/lib/libcuda.so.1", "libcuda.so.1")
    facts = probe(world(tmp_path, LD_LIBRARY_PATH="/opt/lib"), {})
    assert isinstance(facts["driver.library"], Absent)


def test_hostile_paths_are_bounded(tmp_path: Path) -> None:
    value = ":".join(["/x" * 3000, "/a\x1b[31m", *["/nowhere"] * 100_000])
    facts = probe(world(tmp_path, LD_LIBRARY_PATH=value), {})
    assert isinstance(facts["driver.library"], Absent)


def test_other_systems(tmp_path: Path) -> None:
    facts = probe(world(tmp_path, "macos"), {})
    assert isinstance(facts["driver.device_nodes"], Absent)
    put(tmp_path, "/C:/Windows/System32/nvcuda.dll")
    facts = probe(world(tmp_path, "windows"), {})
    assert facts["driver.library"] == Known("C:/Windows/System32/nvcuda.dll", "System32")
