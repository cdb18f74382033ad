"""The marks of a Jetson, each alone: containers and other kernels hide some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.sources.probes.tegra import l4t_fact, tegra_fact
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


@pytest.mark.parametrize(
    ("content", "release"),
    [
        (b"# R35 (release), REVISION: 4.1, GCID: 33958178\n", "35.4.1"),
        (b"# R36 (release), REVISION: 3.0, GCID: 36923193\n", "36.3.0"),
        (b"# R38 (release), REVISION: 2, GCID: 1\n", "38.2"),
    ],
)
def test_the_release_file_names_jetson_linux(tmp_path: Path, content: bytes, release: str) -> None:
    put(tmp_path, "/etc/nv_tegra_release", content=content)
    here = world(tmp_path)
    found = l4t_fact(here, tegra_fact(here))
    assert isinstance(found, Known)
    assert found.value == release


@pytest.mark.parametrize("content", [b"", b"R36", b"# R36 (release), REVISION: x"])
def test_a_release_file_of_another_form_says_nothing(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, "/etc/nv_tegra_release", content=content)
    here = world(tmp_path)
    assert isinstance(l4t_fact(here, tegra_fact(here)), Unknown)


def test_another_machine_has_no_release_of_jetson_linux(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", content=b"6.8.0-60-generic\n")
    here = world(tmp_path)
    assert isinstance(l4t_fact(here, tegra_fact(here)), Absent)
