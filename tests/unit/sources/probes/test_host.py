"""Facts of the machine, from recorded trees and from this very machine."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.host import probe
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.processes.command import Command, Result

GIB = 1 << 30
GLIBC = b"\x7fELF\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\n"
LIBSTDCXX = (
    b"\x7fELF\0GLIBCXX_3.4\0GLIBCXX_3.4.9\0GLIBCXX_3.4.30\0GLIBCXX_3.4.4\0GLIBCXX_TUNABLES\0"
)


def never(command: Command) -> Result:
    raise AssertionError(f"was run: {command.argv}")


def facts_of(
    root: Path, files: dict[str, str | bytes], os_name: str = "linux", **environ: str
) -> dict[str, Fact]:
    return probe(world_of(root, files, os_name, **environ), {})


def world_of(
    root: Path, files: dict[str, str | bytes], os_name: str = "linux", **environ: str
) -> World:
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return World(Target("environment", "x", "--python"), environ, never, os_name, root)


def value(facts: dict[str, Fact], name: str) -> object:
    fact = facts[f"host.{name}"]
    assert isinstance(fact, Known), fact
    return fact.value


def test_every_fact_of_the_catalogue_is_provided(tmp_path: Path) -> None:
    names = {s.name for s in build_catalogue().values() if s.provider == "host"}
    for system in ("linux", "windows", "macos"):
        assert set(facts_of(tmp_path, {}, system)) == names


@pytest.mark.skipif(sys.platform != "linux", reason="the machine is not Linux")
def test_this_very_machine() -> None:
    target = Target("environment", "x", "--python")
    facts = probe(World(target, dict(os.environ), never, "linux"), {})
    assert value(facts, "kernel") == platform.release()
    assert value(facts, "platform") == f"linux_{platform.machine()}"
    assert value(facts, "cores") == len(os.sched_getaffinity(0))
    memory = value(facts, "memory_bytes")
    assert isinstance(memory, int)
    assert GIB // 8 < memory < 1 << 50
    assert isinstance(facts["host.wsl"], Known)
    if value(facts, "libc") == "glibc":
        assert value(facts, "glibc") == platform.libc_ver()[1]


def test_an_empty_tree_makes_no_known_facts_of_its_own(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {})
    assert {name for name, fact in facts.items() if isinstance(fact, Known)} == {"host.os"}
    assert isinstance(facts["host.distribution"], Absent)
    assert isinstance(facts["host.container"], Absent)
    assert isinstance(facts["host.glibc"], Unknown)


def test_kernel_and_machine_are_read_from_proc(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "/proc/sys/kernel/arch": "aarch64\n",
    }
    facts = facts_of(tmp_path, files)
    assert value(facts, "kernel") == "6.8.0-45-generic"
    assert value(facts, "machine") == "aarch64"
    assert value(facts, "platform") == "linux_aarch64"


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("windows", "AMD64", "win_amd64"),
        ("windows", "win32", "win32"),
        ("macos", "arm64", "macosx_arm64"),
    ],
)
def test_platforms_of_other_systems(
    tmp_path: Path, system: str, machine: str, expected: str
) -> None:
    facts = facts_of(tmp_path, {"/proc/sys/kernel/arch": machine}, system)
    assert value(facts, "platform") == expected
    assert isinstance(facts["host.glibc"], Absent)
    assert facts["host.wsl"] == Known(False, f"the system is {system}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('NAME=Ubuntu\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n', "Ubuntu 24.04.1 LTS"),
        ("PRETTY_NAME='Alpine Linux v3.20'\n", "Alpine Linux v3.20"),
        ("PRETTY_NAME=Gentoo\n", "Gentoo"),
    ],
)
def test_distribution(tmp_path: Path, text: str, expected: str) -> None:
    assert value(facts_of(tmp_path, {"/etc/os-release": text}), "distribution") == expected


def test_distribution_from_the_second_place(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"/usr/lib/os-release": 'PRETTY_NAME="Fedora Linux 40"'})
    assert facts["host.distribution"] == Known("Fedora Linux 40", "/usr/lib/os-release")


@pytest.mark.parametrize("junk", [b"", b"\0\xff" * 4000, b'PRETTY_NAME=""\n', b"PRETTY_NAME\n=x"])
def test_an_unparsable_os_release_is_unknown(tmp_path: Path, junk: bytes) -> None:
    fact = facts_of(tmp_path, {"/etc/os-release": junk})["host.distribution"]
    assert fact == Unknown("it has no PRETTY_NAME line", "/etc/os-release")


def test_a_hostile_name_is_made_harmless(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"/etc/os-release": 'PRETTY_NAME="\x1b[2Jgone\u202e"'})
    assert value(facts, "distribution") == "?[2Jgone?"


@pytest.mark.parametrize("folder", ["/lib/x86_64-linux-gnu", "/lib64", "/usr/lib"])
def test_glibc_by_the_words_inside_it(tmp_path: Path, folder: str) -> None:
    facts = facts_of(tmp_path, {f"{folder}/libc.so.6": GLIBC})
    assert facts["host.glibc"] == Known("2.36", f"{folder}/libc.so.6")
    assert value(facts, "libc") == "glibc"


def test_glibc_by_the_name_that_it_leads_to(tmp_path: Path) -> None:
    world = world_of(tmp_path, {"/lib64/libc-2.31.so": b"\x7fELF"})
    (tmp_path / "lib64" / "libc.so.6").symlink_to("libc-2.31.so")
    assert value(probe(world, {}), "glibc") == "2.31"


def test_glibc_without_its_version_is_unknown(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"/lib64/libc.so.6": b"\x7fELF" + bytes(1000)})
    assert value(facts, "libc") == "glibc"
    assert facts["host.glibc"] == Unknown("its version is not in it", "/lib64/libc.so.6")


def test_musl_has_no_glibc(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"/lib/ld-musl-x86_64.so.1": b"\x7fELF"})
    assert value(facts, "libc") == "musl"
    assert isinstance(facts["host.glibc"], Absent)


def test_musl_is_a_platform_of_its_own(tmp_path: Path) -> None:
    """Regression: torch's files for glibc were planned there."""
    loader, kernel = "/lib/ld-musl-x86_64.so.1", "/proc/sys/kernel/arch"
    facts = facts_of(tmp_path, {loader: b"\x7fELF", kernel: "x86_64"})
    assert value(facts, "platform") == "musllinux_x86_64"


def test_musl_with_the_shim_for_glibc_is_still_musl(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/lib/ld-musl-x86_64.so.1": b"\x7fELF",
        "/lib/libc.so.6": b"\x7fELF musl libc (x86_64)",
    }
    assert value(facts_of(tmp_path, files), "libc") == "musl"


def test_a_glibc_system_with_musl_installed_is_glibc(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/lib/ld-musl-x86_64.so.1": b"",
        "/lib/x86_64-linux-gnu/libc.so.6": GLIBC,
    }
    assert value(facts_of(tmp_path, files), "glibc") == "2.36"


def test_the_machines_own_libraries_come_before_those_of_others(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/sys/kernel/arch": "x86_64",
        "/usr/lib/aarch64-linux-gnu/libc.so.6": GLIBC.replace(b"2.36", b"2.28"),
        "/usr/lib/x86_64-linux-gnu/libc.so.6": GLIBC,
    }
    assert value(facts_of(tmp_path, files), "glibc") == "2.36"


def test_the_highest_version_of_libstdcxx_counts_by_number(tmp_path: Path) -> None:
    """As text, 3.4.9 would be higher than 3.4.30."""
    facts = facts_of(tmp_path, {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6": LIBSTDCXX})
    file = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
    assert facts["host.glibcxx"] == Known("3.4.30", file)


def test_the_library_path_comes_before_the_system(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/usr/lib64/libstdc++.so.6": LIBSTDCXX,
        "/opt/old/libstdc++.so.6": b"GLIBCXX_3.4.19\0",
    }
    facts = facts_of(tmp_path, files, LD_LIBRARY_PATH="relative::/missing:/opt/old")
    assert facts["host.glibcxx"] == Known("3.4.19", "/opt/old/libstdc++.so.6")


@pytest.mark.parametrize("kind", ["conda", "venv on conda"])
def test_conda_brings_its_own(tmp_path: Path, kind: str) -> None:
    prefix = tmp_path / "conda"
    for name in ("conda-meta", "lib", "bin"):
        (prefix / name).mkdir(parents=True)
    (prefix / "lib" / "libstdc++.so.6").write_bytes(b"GLIBCXX_3.4.33\0")
    if kind != "conda":
        (tmp_path / "venv").mkdir()
        (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {prefix}/bin\n")
        prefix = tmp_path / "venv"
    world = world_of(tmp_path / "root", {"/usr/lib64/libstdc++.so.6": LIBSTDCXX})
    target = Target("environment", "x", "--python", roots={"prefix": str(prefix)})
    facts = probe(World(target, {}, never, "linux", world.root), {})
    assert value(facts, "glibcxx") == "3.4.33"


def test_a_libstdcxx_without_versions_is_unknown(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"/usr/lib64/libstdc++.so.6": b"\x7fELF"})
    assert isinstance(facts["host.glibcxx"], Unknown)


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("/.dockerenv", "", "docker"),
        ("/run/.containerenv", "", "podman"),
        ("/var/run/secrets/kubernetes.io/serviceaccount/token", "x", "kubernetes"),
        ("/.singularity.d/runscript", "", "container"),
        ("/proc/1/cgroup", "4:memory:/kubepods/besteffort/pod5f0c\n", "kubernetes"),
        ("/proc/1/cgroup", "0::/kubepods.slice/kubepods-pod5f0c.slice\n", "kubernetes"),
        ("/proc/1/cgroup", "12:cpu:/docker/5f0c\n0::/\n", "docker"),
        ("/proc/1/cgroup", "0::/machine.slice/libpod-5f0c.scope\n", "podman"),
        ("/proc/1/cgroup", "3:cpuset:/lxc/build\n", "lxc"),
        ("/run/systemd/container", "lxc\n", "lxc"),
        ("/run/systemd/container", "systemd-nspawn\n", "container"),
    ],
)
def test_containers_are_known_by_their_marks(
    tmp_path: Path, path: str, content: str, expected: str
) -> None:
    assert value(facts_of(tmp_path, {path: content}), "container") == expected


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/proc/1/cgroup", "0::/init.scope\n"),
        ("/proc/1/cgroup", "0::/system.slice/mydocker-tool.service\n"),
        ("/run/systemd/container", "wsl\n"),
    ],
)
def test_a_plain_host_is_no_container(tmp_path: Path, path: str, content: str) -> None:
    assert isinstance(facts_of(tmp_path, {path: content})["host.container"], Absent)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("Linux version 5.15.153.1-microsoft-standard-WSL2 (root@x)", True),
        ("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)", True),
        ("Linux version 6.8.0-45-generic (buildd@lcy02)", False),
    ],
)
def test_wsl(tmp_path: Path, version: str, expected: object) -> None:
    assert value(facts_of(tmp_path, {"/proc/version": version}), "wsl") is expected


def memory(root: Path, **files: str) -> object:
    meminfo = "MemTotal:       8388608 kB\nMemFree:  1 kB\n"
    recorded: dict[str, str | bytes] = {"/proc/meminfo": meminfo}
    recorded |= {f"/{name}": text for name, text in files.items()}
    return value(facts_of(root, recorded), "memory_bytes")


def test_memory_without_a_limit_is_the_machines(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/memory.max": "max\n"}
    assert memory(tmp_path, **files) == 8 * GIB


@pytest.mark.parametrize(
    ("group", "file"),
    [
        ("0::/\n", "sys/fs/cgroup/memory.max"),
        ("0::/a/b\n", "sys/fs/cgroup/a/memory.max"),
        ("0::/../../a\n", "sys/fs/cgroup/a/memory.max"),
        ("4:cpu,memory:/docker/5f\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes"),
        ("4:memory:/docker/5f\n", "sys/fs/cgroup/memory/docker/5f/memory.limit_in_bytes"),
    ],
)
def test_the_lowest_limit_of_all_groups_around_counts(
    tmp_path: Path, group: str, file: str
) -> None:
    assert memory(tmp_path, **{"proc/self/cgroup": group, file: f"{2 * GIB}\n"}) == 2 * GIB


def test_a_limit_above_the_machine_is_none(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "4:memory:/\n"}
    files["sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712\n"
    assert memory(tmp_path, **files) == 8 * GIB


@pytest.mark.parametrize("junk", ["", "MemTotal: lots\n", "\0" * 100])
def test_junk_in_meminfo_is_unknown(tmp_path: Path, junk: str) -> None:
    fact = facts_of(tmp_path, {"/proc/meminfo": junk})["host.memory_bytes"]
    assert fact == Unknown("it gives no MemTotal", "/proc/meminfo")


def test_cores_of_a_recorded_machine(tmp_path: Path) -> None:
    text = "processor\t: 0\nmodel name\t: x processor : y\n\nprocessor\t: 1\n"
    assert value(facts_of(tmp_path, {"/proc/cpuinfo": text}), "cores") == 2


def test_folders_in_place_of_files_are_no_files(tmp_path: Path) -> None:
    for name in ("proc/meminfo", "etc/os-release", "lib64/libc.so.6", "proc/1/cgroup"):
        (tmp_path / name).mkdir(parents=True)
    facts = facts_of(tmp_path, {})
    assert {name for name, fact in facts.items() if isinstance(fact, Known)} == {"host.os"}
