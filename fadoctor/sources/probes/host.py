"""The machine: operating system, C and C++ library, container, memory, processors.

Reads files below the world's root, so that a recorded tree answers like the machine it came from;
the kernel itself is asked only where the root is ``/``. Starts no process.
"""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.sources.probes.host_libraries import libc_facts, libstdcxx_fact
from fadoctor.sources.probes.tegra import l4t_fact, tegra_fact
from fadoctor.sources.probes.windows_host import windows_host_facts, wsl_version
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import Facts, World

_SMALL = 65_536
_CPUINFO_LIMIT = 8 << 20
_MAX_CGROUP_DEPTH = 32

_CONTAINERS = (
    ("kubernetes", "/var/run/secrets/kubernetes.io", "kubepods"),
    ("podman", "/run/.containerenv", "libpod"),
    ("docker", "/.dockerenv", "docker"),
    ("lxc", "", "lxc"),
    ("container", "/.singularity.d", ""),
)
"""Kind, file that marks it, word in a control group's name. The last is Singularity's."""


def probe(world: World, facts: Mapping[str, Fact]) -> Facts:  # noqa: ARG001 -- every probe takes it
    """Return every ``host.*`` fact."""
    machine, tegra = _machine(world), tegra_fact(world)
    found: Facts = {
        "host.os": known(world.os, "the interpreter that runs fadoctor"),
        "host.kernel": _kernel(world),
        "host.machine": machine,
        "host.platform": _platform(world, machine),
        "host.memory_bytes": _memory(world),
        "host.cores": _cores(world),
        "host.tegra": tegra,
        "host.l4t": l4t_fact(world, tegra),
        **windows_host_facts(world),
    }
    if world.os != "linux":
        found["host.wsl"] = known(False, f"the system is {world.os}")
        found["host.wsl_version"] = absent(f"the system is {world.os}")
        names = ("distribution", "libc", "glibc", "glibcxx", "container")
        return found | {f"host.{n}": absent(f"{world.os} has none") for n in names}
    name = str(getattr(machine, "value", ""))
    found |= libc_facts(world, name)
    libc = found["host.libc"]
    if isinstance(libc, Known) and libc.value == "musl" and name:
        found["host.platform"] = known(f"musllinux_{name}", libc.source)
    return found | {
        "host.distribution": _distribution(world),
        "host.glibcxx": libstdcxx_fact(world, name),
        "host.container": _container(world),
        "host.wsl": _wsl(world),
        "host.wsl_version": _wsl_version(found["host.kernel"]),
    }


def is_live(world: World) -> bool:
    """Whether the world is this very machine and not a recorded tree."""
    return world.root == Path("/")


def _kernel(world: World) -> Fact:
    path = "/proc/sys/kernel/osrelease"
    release = (world.read(path, _SMALL) or "").strip()
    if release:
        return known(release, path)
    if is_live(world) and hasattr(os, "uname"):
        return known(os.uname().release, "uname")
    return unknown("neither /proc nor uname gives the kernel's release", path)


def _machine(world: World) -> Fact:
    if is_live(world):
        # sysconfig says win-amd64 on Windows, which has no uname.
        name = os.uname().machine if hasattr(os, "uname") else sysconfig.get_platform()
        return known(name.lower().removeprefix("win-"), "uname")
    path = "/proc/sys/kernel/arch"
    name = (world.read(path, _SMALL) or "").strip()
    return known(name.lower(), path) if name else unknown("the recording has none", path)


def _platform(world: World, machine: Fact) -> Fact:
    """Return the wheel platform: linux_x86_64, win_amd64, macosx_arm64; of glibc on Linux."""
    name = getattr(machine, "value", "")
    if not name:
        return unknown("the machine's name is unknown", machine.source)
    if world.os == "windows":
        return known("win32" if name == "win32" else f"win_{name}", machine.source)
    prefix = {"linux": "linux", "macos": "macosx"}.get(world.os, world.os)
    return known(f"{prefix}_{name}", machine.source)


def _distribution(world: World) -> Fact:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        text = world.read(path, _SMALL)
        if text is None:
            continue
        # The line reads: PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
        match = re.search(
            r"^PRETTY_NAME=(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s\"'][^\n]*))", text, re.MULTILINE
        )
        if match:
            return known(next(group for group in match.groups() if group), path)
        return unknown("it has no PRETTY_NAME line", path)
    return absent("/etc/os-release is not there")


def _container(world: World) -> Fact:
    """Return the innermost kind of container that leaves a mark; Absent on a plain host."""
    cgroup = world.read("/proc/1/cgroup", _SMALL) or ""
    for kind, path, word in _CONTAINERS:
        if path and _exists(world, path):
            return known(kind, path)
        # 4:memory:/kubepods/besteffort/pod5f0c, 0::/docker/5f0c, 1:name=systemd:/lxc/build
        match = re.search(rf"/{word}[/.-].*", cgroup) if word else None
        if match:
            return known(kind, f"/proc/1/cgroup: {match[0]}")
    stated = (world.read("/run/systemd/container", _SMALL) or "").strip()
    if stated and stated != "wsl":
        kind = stated if stated in {kind for kind, _, _ in _CONTAINERS} else "container"
        return known(kind, f"/run/systemd/container: {stated}")
    return absent("no mark of a container is there")


def _exists(world: World, path: str) -> bool:
    try:
        return world.path(path).exists()
    except OSError:
        return False


def _wsl(world: World) -> Fact:
    # Linux version 5.15.153.1-microsoft-standard-WSL2 (root@...) ...
    for path in ("/proc/version", "/proc/sys/kernel/osrelease"):
        text = world.read(path, _SMALL)
        if text:
            return known("microsoft" in text.lower(), path)
    return unknown("the kernel's version cannot be read", "/proc/version")


def _wsl_version(kernel: Fact) -> Fact:
    if not isinstance(kernel, Known):
        return kernel
    version = wsl_version(str(kernel.value))
    return known(version, kernel.source) if version else absent(f"{kernel.source}: not WSL's")


def _memory(world: World) -> Fact:
    # MemTotal:       24684096 kB
    match = re.search(
        r"^MemTotal:\s+(\d{1,15}) kB", world.read("/proc/meminfo", _SMALL) or "", re.MULTILINE
    )
    if match:
        total, source = int(match[1]) * 1024, "/proc/meminfo: MemTotal"
        limits = [(limit, path) for limit, path in _cgroup_limits(world) if limit < total]
        return known(*min(limits, default=(total, source)))
    if is_live(world) and hasattr(os, "sysconf"):
        try:
            pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            pages, size = 0, 0
        if pages > 0 and size > 0:
            return known(pages * size, "sysconf")
    return unknown("it gives no MemTotal", "/proc/meminfo")


def _cgroup_limits(world: World) -> list[tuple[int, str]]:
    """Return the memory limits, bytes, of this process's control groups, versions 2 and 1."""
    limits = []
    for line in (world.read("/proc/self/cgroup", _SMALL) or "").splitlines():
        # 0::/user.slice/session-2.scope (version 2), 4:memory:/docker/5f0c... (version 1)
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            limits += _limits_upwards(world, "/sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            base = "/sys/fs/cgroup/memory"
            limits += _limits_upwards(world, base, path, "memory.limit_in_bytes")
    return limits


def _limits_upwards(world: World, base: str, path: str, name: str) -> list[tuple[int, str]]:
    """Return the limits of a group and of all groups around it: each holds for it too."""
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}][:_MAX_CGROUP_DEPTH]
    limits = []
    for depth in range(len(parts) + 1):
        file = "/".join((base, *parts[:depth], name))
        text = (world.read(file, _SMALL) or "").strip()
        if re.fullmatch(r"\d{1,20}", text):  # else it says max: no limit
            limits.append((int(text), file))
    return limits


def _cores(world: World) -> Fact:
    if is_live(world):
        if hasattr(os, "sched_getaffinity"):
            return known(len(os.sched_getaffinity(0)), "sched_getaffinity")
        count = os.cpu_count()
        return known(count, "os.cpu_count") if count else unknown("not told", "os.cpu_count")
    # One line for each reads: processor	: 0
    count = len(
        re.findall(
            r"^processor\s*:", world.read("/proc/cpuinfo", _CPUINFO_LIMIT) or "", re.MULTILINE
        )
    )
    return known(count, "/proc/cpuinfo") if count else unknown("no processor line", "/proc/cpuinfo")
