"""Whether this is a Jetson: NVIDIA's Tegra, whose drivers come with JetPack and count otherwise.

Several marks, since each can be missing: containers hide the device tree, other kernels have other
names, and an image may bring the release file or leave it out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Known
from fadoctor.sources.probes.world import World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.fact import Fact

_LIMIT = 4096
_RELEASE = "/etc/nv_tegra_release"
_KERNEL = "/proc/sys/kernel/osrelease"
_TREE = ("/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible")
_NODES = ("/dev/nvhost-ctrl-gpu", "/dev/nvgpu", "/dev/nvmap")

# # R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic
_L4T = re.compile(
    r"# R(?P<major>\d{2,3}) \(release\), REVISION: (?P<minor>\d[\d.]{0,8}\d|\d)", re.ASCII
)


def l4t_fact(world: World, tegra: Fact) -> Fact:
    """Return the release of Jetson Linux, which each JetPack has one of; from its release file."""
    if isinstance(tegra, Absent) or (isinstance(tegra, Known) and tegra.value is False):
        return absent("no Jetson")
    found = _L4T.match(world.read(_RELEASE, _LIMIT) or "")
    if found is None:
        return unknown("the release file of Jetson Linux was not found", _RELEASE)
    return known(f"{found['major']}.{found['minor']}", _RELEASE)


def tegra_fact(world: World) -> Fact:
    """Return whether the machine is a Jetson, by the first mark that says so."""
    if world.os != "linux":
        return absent("Jetsons run Linux")
    mark = next(_marks(world), None)
    if mark is not None:
        return known(True, mark)
    if not world.read(_KERNEL, _LIMIT):
        return unknown("no mark of a Jetson is there, and no kernel's release", _KERNEL)
    return known(False, "no mark of a Jetson is there")


def _marks(world: World) -> Iterator[str]:
    # nvidia,p3737-0000+p3701-0000 nvidia,tegra234
    for path in _TREE:
        if "nvidia,tegra" in (world.read(path, _LIMIT) or "").lower():
            yield path
    # 5.15.148-tegra
    kernel = (world.read(_KERNEL, _LIMIT) or "").strip()
    if "tegra" in kernel.lower():
        yield f"{_KERNEL}: {kernel}"
    # # R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic
    release = world.read(_RELEASE, _LIMIT)
    if release is not None:
        yield f"{_RELEASE}: {release.partition(chr(10))[0]}"
    yield from (node for node in _NODES if _exists(world, node))


def _exists(world: World, path: str) -> bool:
    try:
        return world.path(path).exists()
    except (OSError, ValueError):
        return False
