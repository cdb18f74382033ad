"""ROCm's version, the kernel's driver and who may use the device, in trees of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.rocm import probe
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.processes.command import Command, Result

TARGET = Target("environment", "here", "", None, (), {}, may_run=False)


def run(command: Command) -> Result:
    raise AssertionError(command)


def read(root: Path, files: dict[str, str], os: str = "linux", **more: object) -> dict[str, Fact]:
    for name, text in files.items():
        file = root / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    world = World(TARGET, {}, run, os, root, **more)  # type: ignore[arg-type] # fields of the world
    return probe(world, {})


@pytest.mark.parametrize(
    ("text", "version"),
    [("6.4.3-128\n", "6.4.3"), ("7.14.0", "7.14.0"), ("7.2.1-47\n\n", "7.2.1")],
)
def test_the_version_is_in_a_file(tmp_path: Path, text: str, version: str) -> None:
    assert read(tmp_path, {"/opt/rocm/.info/version": text})["rocm.version"] == Known(
        version, "/opt/rocm/.info/version"
    )


def test_a_version_that_is_none_is_not_known(tmp_path: Path) -> None:
    found = read(tmp_path, {"/opt/rocm/.info/version": "soon"})
    assert isinstance(found["rocm.version"], Unknown)


@pytest.mark.parametrize(
    ("files", "driver"),
    [
        ({"/sys/module/amdgpu/version": "6.12.12\n"}, "6.12.12"),
        ({"/sys/module/amdgpu/initstate": "live\n"}, "inbox"),
        ({}, None),
    ],
)
def test_the_driver_is_a_module(tmp_path: Path, files: dict[str, str], driver: str | None) -> None:
    found = read(tmp_path, files)["rocm.driver"]
    assert found.value == driver if isinstance(found, Known) else driver is None


def test_a_device_that_one_may_not_use(tmp_path: Path) -> None:
    files = {"/dev/kfd": "", "/etc/group": "root:x:0:\nvideo:x:44:kim\nrender:x:993:\n"}
    found = read(tmp_path, files, refused={"/dev/kfd": 993})
    assert isinstance(found["rocm.kfd_access"], Known)
    assert found["rocm.kfd_access"].value is False
    assert found["rocm.kfd_group"] == Known("render", "/dev/kfd")


def test_a_device_that_one_may_use(tmp_path: Path) -> None:
    found = read(tmp_path, {"/dev/kfd": ""})
    assert isinstance(found["rocm.kfd_access"], Known)
    assert found["rocm.kfd_access"].value is True


def test_a_group_without_a_name_is_its_number(tmp_path: Path) -> None:
    found = read(tmp_path, {"/dev/kfd": ""}, refused={"/dev/kfd": 4711})
    assert found["rocm.kfd_group"] == Known("4711", "/dev/kfd")


def test_without_a_device_there_is_nobody_to_ask(tmp_path: Path) -> None:
    assert isinstance(read(tmp_path, {})["rocm.kfd_access"], Absent)


def test_elsewhere_nothing_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, {"/dev/kfd": "", "/opt/rocm/.info/version": "7.0"}, os="windows")
    assert all(isinstance(fact, Absent) for fact in found.values())
