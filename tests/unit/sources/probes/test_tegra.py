"""The marks of a Jetson, each alone: containers and other kernels hide some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.sources.probes.tegra import tegra_fact
from tests.unit.sources.probes.test_driver import put, world

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/proc/device-tree/compatible", b"nvidia,p3737-0000+p3701-0000\0nvidia,tegra234\0"),
        ("/sys/firmware/devicetree/base/compatible", b"nvidia,tegra264\0"),
        ("/proc/sys/kernel/osrelease", b"5.10.120-tegra\n"),
        ("/etc/nv_tegra_release", b"# R35 (release), REVISION: 4.1, GCID: 33958178\n"),
        ("/dev/nvhost-ctrl-gpu", b""),
        ("/dev/nvmap", b""),
    ],
)
def test_one_mark_is_enough(path: str, content: bytes, tmp_path: Path) -> None:
    put(tmp_path, path, content=content)
    found = tegra_fact(world(tmp_path))
    assert isinstance(found, Known)
    assert found.value is True
    assert path in found.source


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/proc/device-tree/compatible", b"raspberrypi,4-model-b\0brcm,bcm2711\0"),
        ("/proc/sys/kernel/osrelease", b"6.8.0-1017-nvidia-64k\n"),
        ("/dev/nvidia0", b""),
    ],
)
def test_other_machines_have_none(path: str, content: bytes, tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", content=b"6.8.0-60-generic\n")
    put(tmp_path, path, content=content)
    found = tegra_fact(world(tmp_path))
    assert isinstance(found, Known)
    assert found.value is False


def test_a_machine_of_which_nothing_can_be_read_may_be_one(tmp_path: Path) -> None:
    assert isinstance(tegra_fact(world(tmp_path)), Unknown)


def test_jetsons_run_linux(tmp_path: Path) -> None:
    assert isinstance(tegra_fact(world(tmp_path, "windows")), Absent)
